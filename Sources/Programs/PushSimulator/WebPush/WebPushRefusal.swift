/// Why a push request is refused, in the form of Mozilla's push service.
struct WebPushRefusal: Error, Equatable {
    let status: UInt16
    let number: Int
    let text: String
    /// The warning in the record, if the request is one that no sender should make.
    var warning: String?

    static let noPath = WebPushRefusal(status: 404, number: 102, text: "there is no such subscription")
    static let unsubscribed = WebPushRefusal(status: 410, number: 106, text: "the subscription has ended")
    static let method = WebPushRefusal(status: 405, number: 999, text: "a push message is sent with POST")
    static let tooManyFields = WebPushRefusal(status: 431, number: 999, text: "the header is too large")
    static let otherKey = WebPushRefusal(
        status: 403, number: 109, text: "the subscription was made with another application server key")
    static let noTTL = WebPushRefusal(status: 400, number: 111, text: "the header TTL is missing")

    static func unauthorized(_ text: String) -> WebPushRefusal {
        WebPushRefusal(status: 401, number: 109, text: text)
    }

    static func ttl(_ text: String) -> WebPushRefusal { WebPushRefusal(status: 400, number: 114, text: text) }
    static func topic(_ text: String) -> WebPushRefusal { WebPushRefusal(status: 400, number: 113, text: text) }
    static func urgency(_ text: String) -> WebPushRefusal { WebPushRefusal(status: 400, number: 999, text: text) }
    static func encoding(_ text: String) -> WebPushRefusal { WebPushRefusal(status: 400, number: 110, text: text) }

    static func tooLarge(_ count: Int) -> WebPushRefusal {
        WebPushRefusal(status: 413, number: 104, text: "\(count) bytes are more than 4096")
    }

    static func undecipherable(_ fault: EncryptedBody.Fault) -> WebPushRefusal {
        WebPushRefusal(status: 400, number: 110, text: fault.text, warning: "not_decrypted")
    }

    /// The refusal of a fault rule that gives a status and no text.
    init(faultWith status: UInt16) {
        let number =
            switch status {
            case 400: 110
            case 401, 403: 109
            case 404: 102
            case 410: 106
            case 413: 104
            case 429, 503: 201
            default: 999
            }
        self.init(status: status, number: number, text: "a fault rule gives this answer")
    }

    init(status: UInt16, number: Int, text: String, warning: String? = nil) {
        self.status = status
        self.number = number
        self.text = text
        self.warning = warning
    }

    /// The body of the answer.
    var body: [UInt8] {
        var json = JSONText()
        json.object {
            $0.member("code", number: status)
            $0.member("errno", number: number)
            $0.member("error", string: Self.phrase(status))
            $0.member("message", string: text)
        }
        return json.bytes
    }

    private static func phrase(_ status: UInt16) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 410: "Gone"
        case 413: "Payload Too Large"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status \(status)"
        }
    }
}
