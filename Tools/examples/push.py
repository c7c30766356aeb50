#!/usr/bin/env python3
"""Sends one message over HTTP, signed with http-message-signatures 3.0 or newer and requests.

Usage: push.py URL KEYID SECRET JSON"""

import base64
import secrets
import sys

import requests
from http_message_signatures import HTTPMessageSigner, HTTPSignatureKeyResolver, algorithms


class Keys(HTTPSignatureKeyResolver):
    def __init__(self, secret):
        self.secret = secret

    def resolve_private_key(self, key_id):
        return self.secret


def main(url, key_id, secret, body):
    request = requests.Request(
        "POST", f"{url}/v1/messages", data=body.encode(), headers={"Content-Type": "application/json"}
    ).prepare()
    key = base64.urlsafe_b64decode(secret + "=")
    HTTPMessageSigner(signature_algorithm=algorithms.HMAC_SHA256, key_resolver=Keys(key)).sign(
        request, key_id=key_id, nonce=secrets.token_urlsafe(18), label="carillon",
        covered_component_ids=("@method", "@path", "@query"),
        # Adds Content-Digest and covers it. Leave this out for a request without a body.
        body=request.body,
    )
    answer = requests.Session().send(request, timeout=30)
    print(answer.status_code, answer.text, end="")
    return 0 if answer.ok else 1


if __name__ == "__main__":
    if len(sys.argv) != 5:
        print(__doc__)
        sys.exit(64)
    sys.exit(main(*sys.argv[1:]))
