import PushModel
import Testing

@testable import FCM

/// A row for each reason: what FCM answers, and what follows.
@Suite struct ReasonTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let reason: String
        let body: String
        let disposition: Disposition
        let concern: RefusalConcern?
        var testDescription: String { "\(status) \(reason)" }
    }

    private static func error(_ status: Int, _ word: String, _ details: String..., message: String = "x") -> String {
        #"{"error":{"code":\#(status),"message":"\#(message)","status":"\#(word)","details":[\#(details.joined(separator: ","))]}}"#
    }

    private static func code(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private static func info(_ reason: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\#(reason)"}"#
    }

    private static func field(_ name: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(name)"}]}"#
    }

    private static func subject(_ name: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(name)"}]}"#
    }

    private static func row(
        _ status: Int, _ reason: String, _ body: String, _ disposition: Disposition, _ concern: RefusalConcern?
    ) -> Row {
        Row(status: status, reason: reason, body: body, disposition: disposition, concern: concern)
    }

    private static let invalidText = "The registration token is not a valid FCM registration token"

    static let rows: [Row] = [
        row(404, "UNREGISTERED", error(404, "NOT_FOUND", code("UNREGISTERED")), .deactivate, .device),
        row(
            403, "SENDER_ID_MISMATCH", error(403, "PERMISSION_DENIED", code("SENDER_ID_MISMATCH")), .deactivate, .device
        ),
        row(400, "INVALID_ARGUMENT", error(400, "INVALID_ARGUMENT", code("INVALID_ARGUMENT")), .drop, .notification),
        row(
            400, "INVALID_ARGUMENT", error(400, "INVALID_ARGUMENT", code("INVALID_ARGUMENT"), field("message.data[0]")),
            .drop, .notification),
        row(
            400, "INVALID_ARGUMENT", error(400, "INVALID_ARGUMENT", field("message.token")), .drop, .notification),
        row(
            400, "INVALID_ARGUMENT", error(400, "INVALID_ARGUMENT", message: invalidText), .drop, .notification),
        row(
            400, "INVALID_TOKEN", error(400, "INVALID_ARGUMENT", code("INVALID_ARGUMENT"), field("message.token")),
            .deactivate, .device),
        row(
            400, "INVALID_TOKEN", error(400, "INVALID_ARGUMENT", field("message.fid"), code("INVALID_ARGUMENT")),
            .deactivate, .device),
        row(
            400, "INVALID_TOKEN", error(400, "INVALID_ARGUMENT", code("INVALID_ARGUMENT"), message: invalidText),
            .deactivate, .device),
        row(
            400, "INVALID_ARGUMENT",
            error(400, "INVALID_ARGUMENT", code("INVALID_ARGUMENT"), message: invalidText + " or so"), .drop,
            .notification),
        row(429, "QUOTA_EXCEEDED", error(429, "RESOURCE_EXHAUSTED", code("QUOTA_EXCEEDED")), .retry, .device),
        row(
            429, "QUOTA_EXCEEDED", error(429, "RESOURCE_EXHAUSTED", code("QUOTA_EXCEEDED"), subject("device:1")),
            .retry, .device),
        row(
            429, "PROJECT_QUOTA_EXCEEDED",
            error(429, "RESOURCE_EXHAUSTED", code("QUOTA_EXCEEDED"), subject("project:shop")), .retry, .provider),
        row(429, "RESOURCE_EXHAUSTED", error(429, "RESOURCE_EXHAUSTED"), .retry, .provider),
        row(
            429, "RATE_LIMIT_EXCEEDED", error(429, "RESOURCE_EXHAUSTED", info("RATE_LIMIT_EXCEEDED")), .retry, .provider
        ),
        row(503, "UNAVAILABLE", error(503, "UNAVAILABLE", code("UNAVAILABLE")), .retry, .provider),
        row(503, "UNAVAILABLE", error(503, "UNAVAILABLE"), .retry, .provider),
        row(500, "INTERNAL", error(500, "INTERNAL", code("INTERNAL")), .retry, .provider),
        row(500, "UNSPECIFIED_ERROR", error(500, "UNKNOWN", code("UNSPECIFIED_ERROR")), .retry, .provider),
        row(500, "UNKNOWN", error(500, "UNKNOWN"), .retry, .provider),
        row(500, "DATA_LOSS", error(500, "DATA_LOSS"), .retry, .provider),
        row(504, "DEADLINE_EXCEEDED", error(504, "DEADLINE_EXCEEDED"), .retry, .provider),
        row(409, "ABORTED", error(409, "ABORTED"), .retry, .provider),
        row(400, "FAILED_PRECONDITION", error(400, "FAILED_PRECONDITION"), .drop, .notification),
        row(400, "OUT_OF_RANGE", error(400, "OUT_OF_RANGE"), .drop, .notification),
        row(
            401, "THIRD_PARTY_AUTH_ERROR", error(401, "UNAUTHENTICATED", code("THIRD_PARTY_AUTH_ERROR")), .retry,
            .credential),
        row(401, "APNS_AUTH_ERROR", error(401, "UNAUTHENTICATED", code("APNS_AUTH_ERROR")), .retry, .credential),
        row(401, "UNAUTHENTICATED", error(401, "UNAUTHENTICATED"), .renewTokenOnce, .credential),
        row(
            401, "ACCESS_TOKEN_EXPIRED", error(401, "UNAUTHENTICATED", info("ACCESS_TOKEN_EXPIRED")), .renewTokenOnce,
            .credential),
        row(
            401, "ACCESS_TOKEN_TYPE_UNSUPPORTED", error(401, "UNAUTHENTICATED", info("ACCESS_TOKEN_TYPE_UNSUPPORTED")),
            .renewTokenOnce, .credential),
        row(
            401, "CREDENTIALS_MISSING", error(401, "UNAUTHENTICATED", info("CREDENTIALS_MISSING")), .renewTokenOnce,
            .credential),
        row(403, "PERMISSION_DENIED", error(403, "PERMISSION_DENIED"), .halt, .credential),
        row(
            403, "IAM_PERMISSION_DENIED", error(403, "PERMISSION_DENIED", info("IAM_PERMISSION_DENIED")), .halt,
            .credential),
        row(403, "SERVICE_DISABLED", error(403, "PERMISSION_DENIED", info("SERVICE_DISABLED")), .halt, .credential),
        row(403, "API_DISABLED", error(403, "PERMISSION_DENIED", info("API_DISABLED")), .halt, .credential),
        row(403, "CONSUMER_INVALID", error(403, "PERMISSION_DENIED", info("CONSUMER_INVALID")), .halt, .credential),
        row(403, "CONSUMER_SUSPENDED", error(403, "PERMISSION_DENIED", info("CONSUMER_SUSPENDED")), .halt, .credential),
        row(403, "BILLING_DISABLED", error(403, "PERMISSION_DENIED", info("BILLING_DISABLED")), .halt, .credential),
        row(404, "NOT_FOUND", error(404, "NOT_FOUND"), .halt, .credential),
        // Without a reason.
        row(404, "", "", .halt, .credential), row(404, "", "<html>Not Found</html>", .halt, .credential),
        row(401, "", "", .renewTokenOnce, .credential), row(403, "", "", .halt, .credential),
        row(503, "", "<html><title>Error 503</title></html>", .retry, .provider),
        row(502, "", "<html>", .retry, .provider), row(429, "", "", .retry, nil), row(400, "", "", .drop, nil),
    ]

    @Test(arguments: rows)
    func `An answer has its action`(_ row: Row) {
        let reason = FCMAnswer(Array(row.body.utf8)).reason
        #expect(reason?.rawValue ?? "" == row.reason)
        let refusal = Refusal(status: row.status, reason: reason)
        #expect(ReasonTable.fcm.disposition(of: refusal) == row.disposition)
        #expect(ReasonTable.fcm.concern(of: refusal) == row.concern)
        #expect(ReasonTable.fcm.mayHaveArrived(refusal) == (row.status >= 500))
    }

    @Test func `Each reason of the table has a row, a meaning and an advice`() {
        let tested = Set(Self.rows.map(\.reason))
        for known in ReasonTable.fcm.all {
            #expect(!known.meaning.isEmpty && !known.advice.isEmpty)
            for name in known.names { #expect(tested.contains(name), "\(name)") }
        }
    }

    @Test func `Only three reasons end a device, and one of them spares it if too many devices have it`() {
        let ending = ReasonTable.fcm.all.filter { $0.disposition == .deactivate }
        #expect(Set(ending.map { $0.names[0] }) == ["UNREGISTERED", "INVALID_TOKEN", "SENDER_ID_MISMATCH"])
        #expect(ReasonTable.fcm.misdirected == "SENDER_ID_MISMATCH")
        #expect(ReasonTable.fcm.end(of: Refusal(status: 404, reason: "UNREGISTERED")) == .replaceable)
        #expect(ReasonTable.fcm.end(of: Refusal(status: 404, reason: nil)) == nil)
    }

    @Test func `A broken key for APNs asks for no other access token, and pauses nothing`() {
        let refusal = Refusal(status: 401, reason: "THIRD_PARTY_AUTH_ERROR")
        #expect(ReasonTable.fcm.disposition(of: refusal) == .retry)
        #expect(!ReasonTable.fcm.isTroubleOfProvider(refusal))
        #expect(ReasonTable.fcm.refusesCredential(refusal))
    }
}
