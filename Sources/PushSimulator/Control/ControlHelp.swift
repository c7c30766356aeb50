extension SimulatorMachine {
    static let help = """
        A simulated Apple push service. What it can be asked and told here:

        GET    /state                 what it is and how much it holds
        GET    /counts                how many requests got which answer; duplicates
        GET    /received              the last requests, one JSON object a line
                 ?token=HEX|HEX*  &topic=  &status=  &reason=  &id=UUID  &connection=
                 &since=NUMBER        those after this record, the oldest first
                 &limit=N             1000 unless told otherwise
                 &payload=true        with their payloads, while they are kept
        DELETE /received              forget them, and set the counts to zero
        GET    /duplicates            ids that came more than once (&accepted=true: were accepted more than once)
        GET    /faults                the fault rules and how often each applied
        PUT    /faults                replace them (JSON5)
        POST   /faults                add rules behind them
        DELETE /faults                no more faults
        GET    /devices               what was said of device tokens
        PUT    /devices               {"unknown": "accept|reject", "devices": [{"token": "HEX|HEX*", …}, …]}
        PUT    /devices/HEX|HEX*      {"state": "active|unregistered|expired|bad", "since": MILLISECONDS,
                                       "topics": ["bundle.id"], "environment": "production|sandbox"}
        GET    /devices/HEX|HEX*      DELETE likewise; DELETE /devices forgets all
        GET    /feedback              what the feedback service will report; reading it here does not clear it
        POST   /feedback              {"token": "HEX", "time": SECONDS}
        DELETE /feedback              report nothing

        A fault rule:  { on: "request", match: {…}, times: 3, latency: "20ms", EFFECT }
          on       request (if nothing is said), connect, binary, binary_connect, feedback
          match    all of: token: "HEX|HEX*", topic, push_type, connection: N, request: N (the nth of its connection),
                   after: N (once the connection has had N), status and reason (what Apple would answer),
                   every: N, share: 0.01
          latency  "20ms" or { fixed: "20ms", spread: "10ms" }
          streams  a new stream limit
          EFFECT   at most one of
                   answer: { status: 503, reason: "ServiceUnavailable", retry_after: 30, timestamp: MILLISECONDS }
                           (with 410 and without a timestamp: the time of the request)
                   goaway: { back: N (before this request) or last: STREAM, code: "NO_ERROR", reason: "Shutdown", close: true }
                   reset: "REFUSED_STREAM"    silence: true    half_frame: true    close: true    wedge: true
                   on connections: refuse: true    tls: "refuse" or "expired_certificate"
                   on binary: packet: 8 (status of the error packet; 10: shutdown)
          processed: false  says that a request whose answer goes astray was not carried out either
        Rules are looked at in order; latencies add up; the first effect ends the list.

        Example:  curl -X PUT --data '{ seed: 7, rules: [{ match: { share: 0.01 }, answer: { reason: "ServiceUnavailable" } }] }' ADDRESS/faults

        """
}
