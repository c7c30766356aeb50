package import PushModel
package import PushTime
package import PushWire
package import Receipts

/// The verdict about App Store data.
package struct ReceiptAnswer: JSONAnswer, Equatable {
    package var valid: Bool
    package var kind: String?
    package var app: String?
    package var bundleID: String?
    package var environment: String?
    package var signedAt: WallTime?
    package var revocation: String?
    package var claims: JSONValue?
    package var code: String?
    package var detail: String?

    package enum CodingKeys: String, CodingKey {
        case valid, kind, app, environment, revocation, claims, code, detail
        case bundleID = "bundle_id"
        case signedAt = "signed_at"
    }

    package static var about: [String: String] {
        [
            "valid": "Whether the data is genuine and belongs to an app and an environment of the configuration. A "
                + "refunded purchase is genuine: see the claims.",
            "kind": "`transaction`, `renewal_info`, `app_transaction`, `notification`, or `receipt` for an old one.",
            "app": "The app in the configuration; left out for renewal information, which does not name its app.",
            "environment": "`Production` or `Sandbox`.",
            "revocation": "`good`, `unknown` or `not_checked`: what is known about the certificates' revocation.",
            "claims": "All claims as the App Store signed or sent them.",
            "code": "Why the data is not valid, for programs.",
            "detail": "The same, for people.",
        ]
    }

    package init(_ refusal: ReceiptRefusal) {
        valid = false
        code = refusal.code.rawValue
        detail = refusal.sentence
    }

    package init(_ data: VerifiedData, app: AppID?) {
        valid = true
        kind = data.kind.rawValue
        self.app = app?.name
        bundleID = data.bundleID
        environment = data.environment
        signedAt = WallTime(milliseconds: data.signed.signedAt.milliseconds)
        revocation =
            switch data.revocation {
            case .notChecked: "not_checked"
            case .good: "good"
            case .unknown: "unknown"
            }
        claims = JSONValue(data.signed.json)
    }

    package init(_ receipt: ClassicReceipt, app: AppID?) {
        valid = true
        kind = "receipt"
        self.app = app?.name
        bundleID = receipt.bundleID
        environment = receipt.environment.rawValue
        claims = JSONValue(receipt.json)
    }
}

extension VerifiedData {
    /// The bundle id; nil for renewal information, which does not name its app.
    var bundleID: String? {
        switch self {
        case .transaction(let data): data.content.bundleID
        case .renewalInfo: nil
        case .appTransaction(let data): data.content.bundleID
        case .notification(let data): data.content.bundleID
        }
    }

    fileprivate var environment: String {
        switch self {
        case .transaction(let data): data.content.environment.rawValue
        case .renewalInfo(let data): data.content.environment.rawValue
        case .appTransaction(let data): data.content.environment.rawValue
        case .notification(let data): data.content.environment.rawValue
        }
    }
}

extension JSONValue {
    /// Creates the value of verified JSON. Its keys are unique.
    package init(_ json: ReceiptJSON) {
        switch json {
        case .null: self = .null
        case .boolean(let flag): self = .bool(flag)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { JSONValue($0) })
        case .object(let members):
            self = .object(Dictionary(members.map { ($0.key, JSONValue($0.value)) }) { one, _ in one })
        }
    }
}
