"""Books a batch: python3 book.py FILE. Needs nothing but Python 3."""

import hashlib
import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request


def find_started():
    """Returns the address of orders, which npm start keeps in its data folder."""
    try:
        with open(os.path.join(os.environ.get("DATA_DIR", ".data"), "start.pid")) as file:
            return re.search(r"orders +(\S+)", file.read()).group(1)
    except (OSError, AttributeError):
        return "http://127.0.0.1:3000"


BASE = (os.environ.get("COURIER_URL") or find_started()) + "/api/public/merchant"
HEADERS = {"X-tenant": os.environ.get("COURIER_TENANT", "demo"), "Accept": "application/json"}


def find_value(body, path):
    """Returns the value at a path such as order_data.0.cod; None if there is none."""
    for name in path.split("."):
        try:
            body = body[int(name)] if isinstance(body, list) else body[name]
        except (KeyError, IndexError, TypeError):
            return None
    return body


def fail(refusal, body):
    """Prints each error of a body with its value and similar places, and exits."""
    print(refusal["message"], file=sys.stderr)
    for path, sentences in refusal.get("errors", {}).items():
        value = find_value(body, path)
        # A city of the same name is in another state.
        places = " or ".join(
            place["name"] + (f" in {place['state']}" if place["name"].lower() == str(value).lower() else "")
            for place in refusal.get("suggestions", {}).get(path, [])
        )
        for sentence in sentences:
            words = re.split(r" (?=(?:is|has|must) )", sentence, maxsplit=1)
            named = (" " if value is None else f" {value} ").join(words)
            print(f"{path}: {named}" + (f" Did you mean {places}?" if places else ""), file=sys.stderr)
    sys.exit(1)


def call(method, path, body=None, **headers):
    """Sends a request and returns the body of its response; prints its errors, and exits."""
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(BASE + path, data, {**HEADERS, **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        fail(json.load(error), body)


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
