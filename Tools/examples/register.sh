#!/bin/bash
# Usage: register.sh URL KEYID SECRET APP JSON. Registers a device ({"token": …}), signed as RFC 9421 describes.
set -euo pipefail
path=/v1/apps/$4/devices body=$5
hex=$(tr '_-' '/+' <<<"$3=" | openssl base64 -d -A | od -An -tx1 | tr -d ' \n')
digest="sha-256=:$(printf %s "$body" | openssl dgst -sha256 -binary | openssl base64 -A):"
params='("@method" "@path" "@query" "content-digest")'
params+=";created=$(date +%s);keyid=\"$2\";alg=\"hmac-sha256\";nonce=\"$(openssl rand -hex 16)\""
base=$(printf '"@method": POST\n"@path": %s\n"@query": ?\n"content-digest": %s\n"@signature-params": %s' \
  "$path" "$digest" "$params")
signature=$(printf %s "$base" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hex" -binary | openssl base64 -A)
curl --silent --show-error --data-binary "$body" -H 'Content-Type: application/json' -H "Content-Digest: $digest" \
  -H "Signature-Input: carillon=$params" -H "Signature: carillon=:$signature:" "$1$path"
