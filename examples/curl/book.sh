#!/bin/sh
# Books a batch: sh book.sh FILE
set -eu
url=${COURIER_URL:-http://127.0.0.1:3000}/api/public/merchant
tenant=${COURIER_TENANT:-demo}
batch=$1
# The same file gets the same key: a second run books nothing.
key=curl-$(cksum < "$batch" | tr ' ' '-')

# Prints the first value of a JSON field; a longer program should use jq.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1; }

login=$(curl -sS "$url/login" -H "X-tenant: $tenant" -H 'Content-Type: application/json' \
  --data "{\"email\": \"${COURIER_EMAIL:-shop@example.com}\", \"password\": \"${COURIER_PASSWORD:-lanka-shoes-demo}\"}")
token=$(echo "$login" | field token)
[ -n "$token" ] || { echo "$login" >&2; exit 1; }

call() { curl -sS -H "Authorization: Bearer $token" -H "X-tenant: $tenant" -H 'Accept: application/json' "$@"; }

city=$(call -G "$url/city" --data-urlencode "filter[name]=${COURIER_CITY:-Kotte}" | grep -o '"data":\[{"id":[0-9]*' | field id)
echo "The parcels start in city $city"

response=$(sed "s/\"origin_city_id\": *\"[0-9]*\"/\"origin_city_id\": \"$city\"/" "$batch" |
  call "$url/order/bulk" -H 'Content-Type: application/json' -H "Idempotency-Key: $key" --data-binary @-)
case $response in
  *'"errors"'*) echo "$response" | sed 's/"\],"/"],\n"/g' >&2; exit 1 ;;
  *'"data"'*) ;;
  *) echo "$response" >&2; exit 1 ;;
esac

waybill=$(echo "$response" | sed 's/.*"data":\["\([^"]*\)".*/\1/')
echo "First waybill: $waybill"
status=$(call -G "$url/order/tracking-info" --data-urlencode "waybill_number=$waybill" | sed 's/.*"data":\[{"status":{"key":"[^"]*","name":"\([^"]*\)".*/\1/')
echo "Its status: $status"
