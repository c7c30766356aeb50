/// How the simulated FCM answers a message, besides what it finds wrong with it.
package enum FCMReaction: Sendable, Equatable {
    case taken
    /// An answer in Google's form, with a code of FCM if it has one.
    case refused(status: Int, word: String, code: String? = nil, retryAfter: String? = nil, details: [String] = [])
    /// An answer that is not in the form of Google.
    case raw(status: Int, body: [UInt8])
    /// The stream is reset with this code.
    case reset(UInt32, isTaken: Bool)
    /// The answer never comes.
    case silence
    /// The message is taken, and the connection ends without an answer.
    case cut
    /// The message is taken, and the connection ends with GOAWAY.
    case takenLast

    /// An answer that is not JSON, as a front end gives it.
    package static func html(status: Int) -> FCMReaction {
        .raw(status: status, body: Array("<html><title>Error \(status)</title></html>".utf8))
    }

    /// Returns the answer to an address that begins with a code of FCM, such as `UNREGISTERED-1`.
    package static func byName(_ target: String) -> FCMReaction {
        switch target.prefix(while: { $0 != "-" && $0 != ":" }) {
        case "UNREGISTERED": .refused(status: 404, word: "NOT_FOUND", code: "UNREGISTERED")
        case "SENDER_ID_MISMATCH": .refused(status: 403, word: "PERMISSION_DENIED", code: "SENDER_ID_MISMATCH")
        case "INVALID_ARGUMENT":
            .refused(
                status: 400, word: "INVALID_ARGUMENT", code: "INVALID_ARGUMENT",
                details: [FCMText.badRequest(field: "message.token", text: "not a valid token")])
        case "QUOTA_EXCEEDED":
            .refused(status: 429, word: "RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", retryAfter: "60")
        case "UNAVAILABLE": .refused(status: 503, word: "UNAVAILABLE", code: "UNAVAILABLE")
        case "INTERNAL": .refused(status: 500, word: "INTERNAL", code: "INTERNAL")
        case "THIRD_PARTY_AUTH_ERROR":
            .refused(status: 401, word: "UNAUTHENTICATED", code: "THIRD_PARTY_AUTH_ERROR")
        default: .taken
        }
    }
}

/// The texts of Google's answers.
enum FCMText {
    static func error(status: Int, word: String, message: String, details: [String]) -> [UInt8] {
        var text = JSONText()
        text.object { text in
            text.object("error") { error in
                error.member("code", number: status)
                error.member("message", string: message)
                error.member("status", string: word)
                if !details.isEmpty { error.member("details", json: Array("[\(details.joined(separator: ","))]".utf8)) }
            }
        }
        return text.bytes
    }

    static func code(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    static func errorInfo(_ reason: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\#(reason)","domain":"googleapis.com"}"#
    }

    static func badRequest(field: String, text: String) -> String {
        var json = JSONText()
        json.object { json in
            json.member("@type", string: "type.googleapis.com/google.rpc.BadRequest")
            json.array("fieldViolations") { list in
                list.object { violation in
                    violation.member("field", string: field)
                    violation.member("description", string: text)
                }
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
