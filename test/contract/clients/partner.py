"""Uploads a feed, runs it and orders its products, with the standard library alone.

usage: partner.py URL KEY PARTNER_NAME    prints what it saw as JSON

Errors are told apart by `x-error-code`, never by their text. Values of open enums that this program does not know are
shown as they come.
"""

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

CSV = """sku,product_name,price,currency
TENT-2,Two-person tent,189.90,EUR
LAMP-1,Head lamp,24.50,EUR
MAT-7,Sleeping mat,"1.299,00",EUR
"""

REMEDIES = {"invalid_price": "Write the price with a decimal point.", "missing_required": "Give the row a value."}
RETRIED = {"rate_limited", "unavailable", "job_already_running", "idempotent_request_in_progress"}


class ApiError(Exception):
    """An error response, with its code for programs."""

    def __init__(self, status, headers, body):
        self.code = headers["x-error-code"]
        self.retry_after = headers["Retry-After"]
        super().__init__(f"{status} {self.code}: {body}")


class Service:
    """Sends requests with a key, and repeats them after errors that pass."""

    def __init__(self, url, key, attempts=5):
        self.url, self.key, self.attempts = url, key, attempts

    def get(self, path, headers=None, **query):
        return self.send("GET", f"{path}?{urllib.parse.urlencode(query)}" if query else path, headers or {})

    def post(self, path, value=None):
        """Posts JSON. One Idempotency-Key for all attempts prevents a second order."""
        headers = {} if value is None else {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
        return self.send("POST", path, headers, b"" if value is None else json.dumps(value).encode())

    def upload(self, partner, file_name, content):
        boundary = uuid.uuid4().hex
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="partner_name"\r\n\r\n{partner}\r\n',
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file_name}"\r\n',
            f"Content-Type: text/csv\r\n\r\n{content}\r\n--{boundary}--\r\n",
        ]
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Idempotency-Key": str(uuid.uuid4())}
        return self.send("POST", "/feeds/upload", headers, "".join(parts).encode())

    def send(self, method, path, headers, body=None):
        for attempt in range(1, self.attempts + 1):
            try:
                return self.send_once(method, path, headers, body)
            except ApiError as error:
                if error.code not in RETRIED or attempt == self.attempts:
                    raise
                time.sleep(float(error.retry_after or 0.2 * attempt))

    def send_once(self, method, path, headers, body):
        headers = {"x-api-key": self.key, **headers}
        request = urllib.request.Request(self.url + path, data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return parse(response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                raise ApiError(error.code, error.headers, parse(error.headers, error.read())) from None


def parse(headers, body):
    return json.loads(body) if headers.get_content_type() == "application/json" else body.decode()


def code_of(call, *arguments, **options):
    """Makes a request that must fail. Returns the code of its error."""
    try:
        call(*arguments, **options)
    except ApiError as error:
        return error.code
    raise SystemExit("The request did not fail.")


def main(url, key, partner):
    service = Service(url, key)
    job_id = service.upload(partner, "spring.csv", CSV)["validation_job_id"]
    job = service.post(f"/jobs/{job_id}/run")
    issues = service.get(f"/jobs/{job_id}/issues")["items"]
    for issue in issues:
        print(f"row {issue['row']}: {REMEDIES.get(issue['code'], issue['message'])}", file=sys.stderr)
    products = service.get("/products", partner_name=partner)["items"]
    ids = {product["sku"]: product["product_id"] for product in products}
    items = [{"product_id": ids["TENT-2"], "quantity": 2}, {"product_id": ids["LAMP-1"], "quantity": 1}]
    order = service.post("/orders", {"partner_name": partner, "items": items})
    sales = service.get("/analytics/sales-by-partner")["results"]
    story = {
        "status": job["status"],
        "inserted": job["summary"]["inserted"],
        "skipped": job["summary"]["skipped"],
        "issueCodes": [issue["code"] for issue in issues],
        "rejects": service.get(f"/jobs/{job_id}/rejects.csv"),
        "prices": {product["sku"]: product["price"] for product in products},
        "total": order["total_amount"],
        "unitsSold": next(each["units_sold"] for each in sales if each["partner_name"] == partner),
        "errorCodes": [
            # The preference selects the response of the mock.
            code_of(service.get, "/orders/OR99999", {"Prefer": "code=404"}),
            code_of(service.get, "/products", limit=0),
        ],
    }
    print(json.dumps(story))


if __name__ == "__main__":
    main(*sys.argv[1:])
