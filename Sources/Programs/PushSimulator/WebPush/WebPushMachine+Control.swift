import PushTransport

/// The requests to the control port about the simulated push service.
extension WebPushMachine {
    static let help = """
        A simulated push service of browsers. Requests to this control port:

        POST   /subscriptions           make push subscriptions; the answer has them in
                                        the form of browsers, one on each line
                 ?count=N               how many (default: 1)
                 &application_server_key=KEY
                                        the public key that senders must use, in
                                        Base64URL (default: any key)
        GET    /subscriptions           what is known about them, one on each line
                 ?since=NUMBER          &limit=N (default: 1000)
        DELETE /subscriptions           forget all; they are answered with 404
        GET    /subscriptions/ID        one of them; the ID is the end of its endpoint
        DELETE /subscriptions/ID        unsubscribe; it is answered with 410
        GET    /webpush/received        the last requests, one on each line
                 ?id=ID  &topic=  &status=
                 &since=NUMBER          the requests after this record, oldest first
                 &limit=N               the maximum number of records (default: 1000)
        DELETE /webpush/received        delete the records and reset the counts
        GET    /webpush/counts          the number of requests by answer
        GET    /webpush/faults          the fault rules, and how often each was applied
        PUT    /webpush/faults          replace the rules (JSON5); GET / explains them.
                                        A token is the ID of a subscription
        POST   /webpush/faults          append rules
        DELETE /webpush/faults          remove all rules

        Rules are for requests and connections. They have the effects answer, goaway,
        reset, silence, close and refuse (of connections), and latency and streams. An
        answer with a reason has the form of Apple, another one that of Mozilla.

        Example: every tenth message is refused for a while

        curl -X PUT --data '{rules: [{match: {every: 10}, times: 5, answer: {status: 429, retry_after: 2}}]}' ADDRESS/webpush/faults

        """

    private static let paths = ControlPaths(
        paths: [
            ("/subscriptions", ["GET", "POST", "DELETE"]), ("/subscriptions/ID", ["GET", "DELETE"]),
            ("/webpush/", ["GET"]), ("/webpush/received", ["GET", "DELETE"]), ("/webpush/counts", ["GET"]),
            ("/webpush/faults", ["GET", "PUT", "POST", "DELETE"]),
        ], index: "/webpush/")

    /// Whether a path of the control port is about this service.
    static func isOwn(_ path: String) -> Bool {
        path == "/subscriptions" || path.hasPrefix("/subscriptions/") || path.hasPrefix("/webpush/")
    }

    /// Answers one request to the control port.
    package mutating func control(_ request: ControlRequest) -> ControlResponse {
        do throws(ControlError) {
            return try route(request)
        } catch {
            return error.response
        }
    }

    private mutating func route(_ request: ControlRequest) throws(ControlError) -> ControlResponse {
        let isOne = request.path.hasPrefix("/subscriptions/")
        let path = isOne ? "/subscriptions/ID" : request.path
        try Self.paths.check(request, at: path)
        switch (request.method, path) {
        case ("POST", "/subscriptions"): return try makeSubscriptions(request)
        case ("GET", "/subscriptions"): return try listSubscriptions(request)
        case (_, "/subscriptions/ID"): return try controlSubscription(request)
        case ("GET", "/webpush/received"): return try received(request)
        case (_, "/webpush/faults"): return try faults.control(request, check: Self.check)
        default: break
        }
        _ = try ControlQuery(request.query, keys: [])
        switch (request.method, path) {
        case ("DELETE", "/subscriptions"): book.removeAll()
        case ("DELETE", "/webpush/received"): log.removeAll()
        case ("GET", "/webpush/counts"): return counts
        default: return .text(Self.help)
        }
        return SimulatorMachine.done
    }

    // MARK: Subscriptions

    private mutating func makeSubscriptions(_ request: ControlRequest) throws(ControlError) -> ControlResponse {
        let query = try ControlQuery(request.query, keys: ["count", "application_server_key"])
        let count = Int(try query.integer("count", in: 1...UInt64(SubscriptionBook.maxOrder)) ?? 1)
        var serverKey: [UInt8]?
        if let text = query["application_server_key"] {
            let bytes = ByteView.lending(Array(text.utf8)) { Base64.decodeURL($0) }
            guard let bytes, (try? ES256PublicKey(point: bytes)) != nil else {
                throw ControlError(
                    "this is not a public key", advice: "give the 65 bytes of a point on P-256 in Base64URL")
            }
            serverKey = bytes
        }
        guard book.count + count <= SubscriptionBook.maxCount else {
            throw ControlError(
                "more than \(SubscriptionBook.maxCount) subscriptions", status: 409,
                advice: "DELETE /subscriptions forgets those that there are")
        }
        var text = JSONText()
        for _ in 0..<count {
            do throws(CryptoError) {
                write(try book.make(serverKey: serverKey), to: &text)
            } catch {
                throw ControlError("\(error)", status: 500, advice: "no keys can be made on this machine")
            }
        }
        return .lines(text.bytes)
    }

    /// Writes a subscription as `JSON.stringify` does it in a browser.
    private func write(_ subscription: SubscriptionBook.Subscription, to text: inout JSONText) {
        text.object {
            $0.member("endpoint", string: "\(origin)\(WebPushRequest.root)\(Hex.text(subscription.id))")
            $0.member("expirationTime", json: Array("null".utf8))
            $0.object("keys") {
                $0.member("p256dh", bytes: Base64.encodeURL(subscription.key.publicPoint))
                $0.member("auth", bytes: Base64.encodeURL(subscription.secret))
            }
        }
        text.newline()
    }

    private func listSubscriptions(_ request: ControlRequest) throws(ControlError) -> ControlResponse {
        let query = try ControlQuery(request.query, keys: ["since", "limit"])
        let since = try query.integer("since", in: 0...UInt64(Int64.max)) ?? 0
        let limit = Int(try query.integer("limit", in: 1...100_000) ?? 1000)
        var text = JSONText()
        for subscription in book.list(after: since, limit: limit) {
            text.object { Self.describe(subscription, to: &$0) }
            text.newline()
        }
        return .lines(text.bytes)
    }

    private static func describe(_ subscription: SubscriptionBook.Subscription, to text: inout JSONText) {
        text.member("number", number: subscription.number)
        text.member("id", string: Hex.text(subscription.id))
        text.member("state", string: subscription.hasEnded ? "unsubscribed" : "active")
        text.member("received", number: subscription.received)
        if let key = subscription.serverKey {
            text.member("application_server_key", bytes: Base64.encodeURL(key))
        }
    }

    private mutating func controlSubscription(_ request: ControlRequest) throws(ControlError) -> ControlResponse {
        _ = try ControlQuery(request.query, keys: [])
        let name = String(request.path.dropFirst("/subscriptions/".count))
        guard let id = Hex.bytes(name), var subscription = book[id] else {
            throw ControlError(
                "there is no such subscription", status: 404, advice: "GET /subscriptions lists them with their ids")
        }
        if request.method == "DELETE" {
            subscription.hasEnded = true
            book[id] = subscription
        }
        return .json { Self.describe(subscription, to: &$0) }
    }

    // MARK: Records

    private func received(_ request: ControlRequest) throws(ControlError) -> ControlResponse {
        let query = try ControlQuery(request.query, keys: ["id", "topic", "status", "since", "limit"])
        var id: [UInt8]?
        if let text = query["id"] {
            guard let bytes = Hex.bytes(text) else {
                throw ControlError("\"\(text)\" is not an id", advice: "use the hexadecimal digits of the endpoint")
            }
            id = bytes
        }
        let status = try query.integer("status", in: 0...999).map { UInt16($0) }
        let limit = Int(try query.integer("limit", in: 1...1_000_000) ?? 1000)
        let since = try query.integer("since", in: 0...UInt64(Int64.max))
        let found = log.kept.lazy.filter { record in
            (id == nil || record.subscription == id) && (status == nil || record.status == status)
                && (query["topic"] == nil || record.topic == query["topic"]) && record.number > since ?? 0
        }
        var text = JSONText()
        for record in since == nil ? Array(found.suffix(limit)) : Array(found.prefix(limit)) {
            text.object { Self.write(record, to: &$0) }
            text.newline()
        }
        return .lines(text.bytes)
    }

    private static func write(_ record: WebPushRecord, to text: inout JSONText) {
        text.member("number", number: record.number)
        text.member("at", number: record.at)
        text.member("connection", number: record.connection)
        text.member("stream", number: record.stream)
        if !record.subscription.isEmpty { text.member("id", string: Hex.text(record.subscription)) }
        text.member("status", number: record.status)
        text.member("accepted", boolean: record.isAccepted)
        if let number = record.errorNumber { text.member("errno", number: number) }
        if let refusal = record.refusal { text.member("refusal", string: refusal) }
        if let name = record.message { text.member("message_id", string: name) }
        if let ttl = record.ttl { text.member("ttl", number: ttl) }
        if let urgency = record.urgency { text.member("urgency", string: urgency) }
        if let topic = record.topic { text.member("topic", string: topic) }
        text.member("body_bytes", number: record.bodyCount)
        for (name, isSet) in [
            ("fault", record.isFault), ("unanswered", record.isUnanswered), ("unprocessed", record.isUnprocessed),
        ] as [(StaticString, Bool)] where isSet {
            text.member(name, boolean: true)
        }
        if let number = record.replaces { text.member("replaces", number: number) }
        if let number = record.replacedBy { text.member("replaced_by", number: number) }
        if !record.warnings.isEmpty {
            text.array("warnings") { list in for warning in record.warnings { list.element(warning) } }
        }
        guard let message = record.text else { return }
        // Valid JSON is embedded; other messages are written as text.
        if !message.isEmpty, ByteView.lending(message, to: { JSONScanner.scan($0) }) != nil {
            text.member("payload", json: message.filter { $0 != 0x0a && $0 != 0x0d })
        } else {
            text.member("payload_text", bytes: message)
        }
    }

    private var counts: ControlResponse {
        .json { text in
            text.member("requests", number: log.total)
            text.member("accepted", number: log.kept.count { $0.isAccepted })
            text.member("unanswered", number: log.kept.count { $0.isUnanswered })
            text.member("unprocessed", number: log.kept.count { $0.isUnprocessed })
            text.object("subscriptions") {
                $0.member("active", number: book.liveCount)
                $0.member("unsubscribed", number: book.count - book.liveCount)
            }
            text.array("answers") { list in
                for (status, count) in log.counts.sorted(by: { $0.key < $1.key }) {
                    list.object {
                        $0.member("status", number: status)
                        $0.member("count", number: count)
                    }
                }
            }
        }
    }
}
