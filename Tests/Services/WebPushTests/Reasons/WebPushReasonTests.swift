import PushModel
import Testing

@testable import WebPush

/// A row for each answer of push services, and what follows.
@Suite struct WebPushReasonTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let body: String
        let reason: String?
        let disposition: Disposition
        var testDescription: String { "\(status) \(body)" }

        /// An answer without a body.
        init(_ status: Int, _ reason: String?, _ disposition: Disposition) {
            self.init(status, "", reason, disposition)
        }

        init(_ status: Int, _ body: String, _ reason: String?, _ disposition: Disposition) {
            self.status = status
            self.body = body
            self.reason = reason
            self.disposition = disposition
        }
    }

    private static func mozilla(_ status: Int, _ number: Int) -> String {
        #"{"code":\#(status),"errno":\#(number),"error":"x","message":"y","more_info":"z"}"#
    }

    private static func apple(_ word: String) -> String { #"{"reason":"\#(word)"}"# }

    static let rows: [Row] = [
        Row(404, "SubscriptionUnknown", .deactivate), Row(410, "SubscriptionGone", .deactivate),
        Row(404, mozilla(404, 102), "SubscriptionUnknown", .deactivate),
        Row(410, mozilla(410, 103), "SubscriptionGone", .deactivate),
        Row(410, mozilla(410, 106), "SubscriptionGone", .deactivate), Row(404, apple("BadPath"), "BadPath", .drop),
        Row(400, "BadRequest", .drop), Row(400, mozilla(400, 111), "BadTtl", .drop),
        Row(400, mozilla(400, 112), "BadTtl", .drop), Row(400, mozilla(400, 113), "BadWebPushTopic", .drop),
        Row(400, mozilla(400, 110), "BadWebPushRequest", .drop), Row(400, mozilla(400, 999), "BadRequest", .drop),
        Row(400, apple("BadWebPushTopic"), "BadWebPushTopic", .drop), Row(400, apple("BadTtl"), "BadTtl", .drop),
        Row(400, apple("BadUrgency"), "BadUrgency", .drop), Row(413, "PayloadTooLarge", .drop),
        Row(413, mozilla(413, 104), "PayloadTooLarge", .drop), Row(401, "Unauthorized", .drop),
        Row(401, mozilla(401, 109), "Unauthorized", .drop), Row(403, "Forbidden", .drop),
        Row(403, apple("BadJwtToken"), "BadJwtToken", .drop), Row(400, apple("BadJwtToken"), "BadJwtToken", .drop),
        Row(403, apple("VapidPkHashMismatch"), "VapidPkHashMismatch", .drop),
        Row(405, apple("MethodNotAllowed"), "MethodNotAllowed", .drop), Row(406, "Throttled", .retry),
        Row(429, "TooManyRequests", .retry), Row(429, apple("TooManyRequests"), "TooManyRequests", .retry),
        Row(500, "InternalServerError", .retry), Row(502, "BadGateway", .retry),
        Row(503, "ServiceUnavailable", .retry), Row(503, mozilla(503, 201), "ServiceUnavailable", .retry),
        Row(503, apple("Shutdown"), "ServiceUnavailable", .retry), Row(504, "GatewayTimeout", .retry),
        Row(507, nil, .retry), Row(301, "Redirected", .drop), Row(307, "Redirected", .drop), Row(418, nil, .drop),
        Row(500, apple("SubscriptionGone"), "InternalServerError", .retry),
        Row(503, mozilla(410, 103), "ServiceUnavailable", .retry),
        Row(404, "<html>", "SubscriptionUnknown", .deactivate),
        Row(400, apple("origin_not_allowed"), "BadRequest", .drop), Row(400, "[]", "BadRequest", .drop),
        Row(400, apple(String(repeating: "x", count: 5000)), "BadRequest", .drop),
    ]

    @Test("An answer has its reason and its consequence, and never concerns the whole app", arguments: rows)
    func answer(_ row: Row) {
        let refusal = unsafe Array(row.body.utf8).withUnsafeBytes {
            unsafe WebPushAnswer.refusal(status: row.status, body: $0, retryAfter: nil)
        }
        let table = ReasonTable.webPush
        #expect(refusal.reason?.rawValue == row.reason)
        #expect(table.disposition(of: refusal) == row.disposition)
        #expect(table.end(of: refusal) == (row.disposition == .deactivate ? .gone : nil))
        #expect(!table.isTroubleOfProvider(refusal) && !table.refusesCredential(refusal))
        #expect(refusal.retryAfter == ([406, 429].contains(row.status) ? 60 : nil))
        #expect(table.mayHaveArrived(refusal) == (row.status >= 500))
    }

    @Test("No reason and no status pauses or halts an app, or ends its connections")
    func scope() {
        let table = ReasonTable.webPush
        for known in table.all {
            #expect([.drop, .deactivate, .retry].contains(known.disposition), "\(known.names)")
            #expect(!known.isMisdirected && !known.isForbidden)
        }
        for status in 0...999 {
            for reason in [nil, ProviderReason(rawValue: "x")] + table.all.map(\.reason) {
                let refusal = Refusal(status: status, reason: reason)
                #expect(!table.isTroubleOfProvider(refusal))
                #expect([.drop, .deactivate, .retry].contains(table.disposition(of: refusal)))
            }
        }
    }

    @Test("Each reason has words, and a row of answers")
    func completeness() {
        let answered = Set(Self.rows.compactMap(\.reason))
        for known in ReasonTable.webPush.all where known.status != 0 {
            #expect(!known.meaning.isEmpty && !known.advice.isEmpty)
            #expect(answered.contains(known.names[0]), "\(known.names[0])")
        }
    }

    @Test(
        "The id of a message is the last part of its location",
        arguments: [
            ("https://push.example.com/m/abc-1", "abc-1"), ("/m/abc", "abc"), ("abc", "abc"),
            ("https://a/m/abc/", "abc"),
            ("https://a/m/abc?x=/y#z/w", "abc"), ("", nil), ("///", nil), ("https://a/m/\u{1}", nil),
            ("https://a/m/a b", nil), ("https://a/m/" + String(repeating: "x", count: 2000), nil),
        ] as [(String, String?)])
    func location(location: String, id: String?) {
        #expect(WebPushAnswer.providerID(location)?.text == id)
    }

    @Test("Neither an answer nor a reset says that all push services of an app fail")
    func oneOfMany() {
        #expect(!ReasonTable.webPush.isTroubleOfProvider(Refusal(status: 500, reason: nil)))
        #expect(!ReasonTable.webPush.isTroubleOfProvider(UnknownCause.reset))
    }
}
