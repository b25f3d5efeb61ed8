#!/bin/sh
# Books a batch: sh book.sh FILE
set -eu
# npm start keeps its addresses in its data folder.
started=$(sed -n 's/^ *orders *//p' "${DATA_DIR:-.data}/start.pid" 2> /dev/null || true)
url=${COURIER_URL:-${started:-http://127.0.0.1:3000}}/api/public/merchant
tenant=${COURIER_TENANT:-demo}
batch=$1
# The same file gets the same key: a second run books nothing.
key=curl-$(cksum < "$batch" | tr ' ' '-')

# Prints the first value of a JSON field; a longer program should use jq.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1; }

# Prints each error with the value that it is about, and similar places.
explain() {
  { tr '\n' ' ' < "$batch"; echo; echo "$1"; } | awk '
    function field(text, name) {
      if (!match(text, "\"" name "\": *\"?[^\",}]*")) return ""
      text = substr(text, RSTART, RLENGTH)
      sub(/^"[^"]*": *"?/, "", text)
      return text
    }
    NR == 1 { sub(/.*"order_data"/, ""); split($0, orders, "{"); next }
    {
      print field($0, "message")
      similar = $0
      if (!sub(/.*"suggestions":/, "", similar)) similar = ""
      sub(/.*"errors":\{/, ""); sub(/"suggestions":.*/, "")
      while (match($0, /"[a-z_.0-9-]+":\["[^]]*"\]/)) {
        split(substr($0, RSTART + 1, RLENGTH - 3), error, /":\["/)
        $0 = substr($0, RSTART + RLENGTH)
        split(error[1], path, ".")
        value = path[1] == "order_data" ? field(orders[path[2] + 2], path[3]) : ""
        hint = ""
        if (at = index(similar, "\"" error[1] "\"")) {
          places = substr(similar, at)
          sub(/\].*/, "", places)
          while (match(places, /"name":[^}]*/)) {
            place = substr(places, RSTART, RLENGTH)
            places = substr(places, RSTART + RLENGTH)
            # A city of the same name is in another state.
            state = tolower(field(place, "name")) == tolower(value) ? " in " field(place, "state") : ""
            hint = hint (hint ? " or " : " Did you mean ") field(place, "name") state
          }
        }
        count = split(error[2], sentences, /","/)
        for (each = 1; each <= count; each++) {
          if (value != "") sub(/ (is|has|must) /, " " value "&", sentences[each])
          print error[1] ": " sentences[each] hint (hint ? "?" : "")
        }
      }
    }'
}

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
  *'"errors"'*) explain "$response" >&2; exit 1 ;;
  *'"data"'*) ;;
  *) echo "$response" >&2; exit 1 ;;
esac

waybill=$(echo "$response" | sed 's/.*"data":\["\([^"]*\)".*/\1/')
echo "First waybill: $waybill"
status=$(call -G "$url/order/tracking-info" --data-urlencode "waybill_number=$waybill" | sed 's/.*"data":\[{"status":{"key":"[^"]*","name":"\([^"]*\)".*/\1/')
echo "Its status: $status"
