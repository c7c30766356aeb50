#!/bin/bash
# Sends one message over HTTP, signed as RFC 9421 describes, with curl and openssl.
# Usage: push.sh URL KEYID SECRET JSON, such as: push.sh http://127.0.0.1:8470 k7f3qk2m "$SECRET" "$(cat message.json)"
set -euo pipefail
url=$1 key=$2 body=$4
hex=$(tr '_-' '/+' <<<"$3=" | openssl base64 -d -A | od -An -tx1 | tr -d ' \n')
digest="sha-256=:$(printf %s "$body" | openssl dgst -sha256 -binary | openssl base64 -A):"
params="(\"@method\" \"@path\" \"@query\" \"content-digest\");created=$(date +%s);keyid=\"$key\";alg=\"hmac-sha256\";nonce=\"$(openssl rand -hex 16)\""
base=$(printf '"@method": POST\n"@path": /v1/messages\n"@query": ?\n"content-digest": %s\n"@signature-params": %s' "$digest" "$params")
signature=$(printf %s "$base" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hex" -binary | openssl base64 -A)
curl --silent --show-error --data-binary "$body" -H 'Content-Type: application/json' -H "Content-Digest: $digest" \
  -H "Signature-Input: carillon=$params" -H "Signature: carillon=:$signature:" "$url/v1/messages"
