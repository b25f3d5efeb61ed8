"""Books a batch: python3 book.py FILE. Needs nothing but Python 3."""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

BASE = os.environ.get("COURIER_URL", "http://127.0.0.1:3000") + "/api/public/merchant"
HEADERS = {"X-tenant": os.environ.get("COURIER_TENANT", "demo"), "Accept": "application/json"}


def call(method, path, body=None, **headers):
    """Sends a request and returns the body of its response; prints each error with its field, and exits."""
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(BASE + path, data, {**HEADERS, **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        refusal = json.load(error)
        print(refusal["message"], file=sys.stderr)
        for field, sentences in refusal.get("errors", {}).items():
            for sentence in sentences:
                print(f"{field}: {sentence}", file=sys.stderr)
        sys.exit(1)


login = call("POST", "/login", {
    "email": os.environ.get("COURIER_EMAIL", "shop@example.com"),
    "password": os.environ.get("COURIER_PASSWORD", "lanka-shoes-demo"),
})
HEADERS["Authorization"] = "Bearer " + login["token"]

cities = call("GET", "/city?" + urllib.parse.urlencode({"filter[name]": os.environ.get("COURIER_CITY", "Kotte")}))["data"]
if not cities:
    sys.exit("There is no such city.")
print(f"The parcels start in {cities[0]['name']}, {cities[0]['state']['name']}")

with open(sys.argv[1], "rb") as file:
    text = file.read()
batch = json.loads(text)
batch["general_data"]["origin_city_id"] = str(cities[0]["id"])
# The same file gets the same key: a second run books nothing.
booked = call("POST", "/order/bulk", batch, **{"Idempotency-Key": "python-" + hashlib.sha256(text).hexdigest()})
waybill = booked["data"][0]
print("First waybill:", waybill)

events = call("GET", "/order/tracking-info?" + urllib.parse.urlencode({"waybill_number": waybill}))["data"]
print("Its status:", events[0]["status"]["name"])
