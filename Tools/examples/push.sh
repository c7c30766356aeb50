#!/bin/bash
# Usage: push.sh URL KEYID SECRET JSON. Sends a message, signed as RFC 9421 describes; other users see SECRET in ps.
set -euo pipefail
url=$1 key=$2 body=$4
hex=$(tr '_-' '/+' <<<"$3=" | openssl base64 -d -A | od -An -tx1 | tr -d ' \n')
digest="sha-256=:$(printf %s "$body" | openssl dgst -sha256 -binary | openssl base64 -A):"
params='("@method" "@path" "@query" "content-digest")'
params+=";created=$(date +%s);keyid=\"$key\";alg=\"hmac-sha256\";nonce=\"$(openssl rand -hex 16)\""
base=$(printf '"@method": POST\n"@path": /v1/messages\n"@query": ?\n"content-digest": %s\n"@signature-params": %s' \
  "$digest" "$params")
signature=$(printf %s "$base" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hex" -binary | openssl base64 -A)
curl --silent --show-error --data-binary "$body" -H 'Content-Type: application/json' -H "Content-Digest: $digest" \
  -H "Signature-Input: carillon=$params" -H "Signature: carillon=:$signature:" "$url/v1/messages"
