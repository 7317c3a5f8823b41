"""What Schemathesis needs to know besides the document. `schemathesis.toml` names this file."""

import re
from copy import deepcopy

import schemathesis

FORM = "multipart/form-data"
KEY = "Idempotency-Key"


@schemathesis.hook
def before_load_schema(context, schema):
    """Puts the schema of each form in the place of its reference: only there Schemathesis looks for files."""
    schemas = schema["components"]["schemas"]
    for path in schema["paths"].values():
        for operation in path.values():
            form = operation.get("requestBody", {}).get("content", {}).get(FORM)
            if form:
                form["schema"] = deepcopy(schemas[form["schema"]["$ref"].rpartition("/")[2]])


@schemathesis.hook
def map_case(context, case):
    """Makes a right form one that can be sent.

    Any bytes are a file for the document: a header row comes before them. Parts besides the documented ones are ignored,
    but for names that no header can carry.
    """
    if case.media_type == FORM and case.meta.generation.mode.is_positive:
        case.body = {name: value for name, value in case.body.items() if name.isprintable()}
        file = case.body["file"]
        text = bytes(getattr(file, "data", b"")).decode("latin-1") or file
        case.body["file"] = 'sku,product_name\r\n"A-1","' + text.replace('"', '""') + '"\r\n'
    if case.query and "q" in case.query and case.meta.generation.mode.is_positive:
        # No schema says how many words a text has, and how long they are.
        case.query["q"] = " ".join(re.findall("[a-z]{2,}", str(case.query["q"]))[:8])
    return case


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes each right Idempotency-Key one of its own: that of an earlier, different request is 422 by design."""
    key = (case.headers or {}).get(KEY)
    if key and len(key) <= 255:
        case.headers[KEY] = f"{case.id} {key}"[:255]


@schemathesis.deserializer("text/csv")
def read_csv(context, response):
    """Reads CSV as the text that the document says it is."""
    return response.content.decode()
