extension SimulatorMachine {
    static let help = """
        A simulated Apple push service. Requests to this control port:

        GET    /state             the settings, and how much the simulator holds
        GET    /counts            the number of requests per answer; duplicates
        GET    /received          the last requests, one JSON object per line
                 ?token=HEX|HEX*  &topic=  &status=  &reason=  &id=UUID
                 &connection=
                 &since=NUMBER    the requests after this record, oldest first
                 &limit=N         the maximum number of records (default: 1000)
                 &payload=true    include the payloads that are still kept
        DELETE /received          delete the records and reset the counts
        GET    /duplicates        ids that were received more than once
                 ?accepted=true   only ids that were accepted more than once
                 &limit=N         the maximum number of ids (default: 1000)
        GET    /faults            the fault rules, and how often each was applied
        PUT    /faults            replace the rules (JSON5)
        POST   /faults            append rules
        DELETE /faults            remove all rules
        GET    /devices           the device tokens that have a state
        PUT    /devices           {"unknown": "accept|reject",
                                   "devices": [{"token": "HEX|HEX*", …}, …]}
        DELETE /devices           remove all of them
        PUT    /devices/HEX|HEX*  {"state": "active|unregistered|expired|bad",
                                   "since": MILLISECONDS,
                                   "topics": ["bundle.id"],
                                   "environment": "production|sandbox",
                                   "kind": "alert|voip|widget|…"}
        GET    /devices/HEX|HEX*  the state of one token or prefix
        DELETE /devices/HEX|HEX*  remove one token or prefix
        POST   /devices/HEX/rotate
                                  give the app another token instead; this one is
                                  answered with 410 from then on
        GET    /phones            the simulated phones, one JSON object per line
                 ?since=NUMBER    &limit=N (default: 1000)
        POST   /phones            a phone with tokens: {"app": "bundle.id",
                                   "kinds": ["alert", "voip", "complication",
                                     "fileprovider", "location", "pushtotalk",
                                     "widget", "control"],
                                   "activity_types": ["DeliveryAttributes"],
                                     (a push-to-start token for each)
                                   "budget": N (updates with priority 10 of one
                                     activity in an hour; default: any number),
                                   "environment": "production|sandbox"}
        DELETE /phones            forget all phones, activities and their tokens
        GET    /phones/NUMBER     one phone
        DELETE /phones/NUMBER     delete the app from it: its tokens are
                                  unregistered, its activities end
        GET    /activities        the Live Activities, one JSON object per line
                 ?phone=NUMBER    &state=active|stale|ended|dismissed
                 &member=NAME     the member of the attributes that names an
                                  activity (default: name)
                 &since=NUMBER    &limit=N (default: 1000)
        POST   /activities        start one as an app does: {"phone": NUMBER,
                                   "type": "DeliveryAttributes",
                                   "attributes": {…}, "content_state": {…},
                                   "channel": "BASE64" (default: a token)}
        GET    /activities/NUMBER           one activity; ?member=NAME
        POST   /activities/NUMBER/dismiss   remove it, as a person does
        GET    /feedback          the entries that the feedback service will report;
                                  this request does not clear them
        POST   /feedback          {"token": "HEX", "time": SECONDS}
        DELETE /feedback          remove all entries
        POST   /store/sign        sign a JSON object as the App Store signs a
                                  transaction; the answer is the signed text
        POST   /store/notifications
                                  sign an App Store Server Notification, and send
                                  it if there is a url: {"type": "DID_RENEW",
                                   "bundle_id": "bundle.id", "url": "http://…",
                                   "times": 1, "id": "UUID", "subtype",
                                   "environment": "Sandbox", "app_apple_id",
                                   "product_id", "transaction_id",
                                   "original_transaction_id",
                                   "app_account_token"}
        POST   /subscriptions     make a push subscription, with --webpush-port;
                                  GET /webpush/ lists what else there is for Web Push
        GET    /fcm/              what there is for FCM, with --fcm-port

        A fault rule: { on: "request", match: {…}, times: 3, latency: "20ms", EFFECT }
          on       request (default), connect, binary, binary_connect, feedback
          match    all of: token: "HEX|HEX*", topic, push_type, connection: N,
                   request: N (the nth request of its connection),
                   after: N (the requests after the first N of their connection),
                   status and reason (what Apple would answer),
                   every: N, share: 0.01
          times    the number of times that the rule applies (default: always)
          latency  "20ms" or { fixed: "20ms", spread: "10ms" }
          streams  a new stream limit
          EFFECT   at most one of
                   answer: { status: 503, reason: "ServiceUnavailable",
                             retry_after: 30, timestamp: MILLISECONDS }
                           (410 without a timestamp: the time of the request)
                   goaway: { back: N (before this request) or last: STREAM,
                             code: "NO_ERROR", reason: "Shutdown", close: true }
                   reset: "REFUSED_STREAM"
                   silence: true    half_frame: true    close: true    wedge: true
                   on connections: refuse: true
                                   tls: "refuse" or "expired_certificate"
                   on binary: packet: 8 (status of the error packet; 10: shutdown)
          processed: false  the request without an answer was not processed either
        The rules are evaluated in order. Latencies add up. The first effect ends
        the evaluation.

        Example:

        curl -X PUT --data '{rules: [{times: 3, answer: {status: 503}}]}' ADDRESS/faults

        """
}
