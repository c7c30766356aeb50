import PushModel
import PushWire

/// The body of a refusal: `{"error": {"code", "message", "status", "details": […]}}`.
///
/// The parser is tolerant and bounded: it ignores what it does not know, and a body of another form, such as the HTML of
/// a front end, gives no reason. The table then decides by the status.
struct FCMAnswer: Equatable {
    let reason: ProviderReason?

    /// The largest body that is read, and the largest number of details of it.
    static let maxLength = 16_384
    private static let maxDetails = 16
    private static let maxWordLength = 64

    init(_ body: some Collection<UInt8>) {
        reason = body.count <= Self.maxLength ? (try? JSONDocument(Array(body))).flatMap(Self.reason) : nil
    }

    private static func reason(_ json: JSONDocument) -> ProviderReason? {
        guard json.kind(json.root) == .object, let error = json.value("error", in: json.root),
            json.kind(error) == .object
        else { return nil }
        var details = Details()
        if let list = json.value("details", in: error), json.kind(list) == .array {
            for detail in json.elements(list).prefix(maxDetails) where json.kind(detail) == .object {
                details.read(json, detail)
            }
        }
        if let code = details.errorCode {
            let message = json.value("message", in: error).flatMap { json.string($0) }
            return reason(code: code, details, message: message)
        }
        let word = details.errorInfo ?? json.value("status", in: error).flatMap { json.string($0) }
        return word.flatMap(Self.word).map { ProviderReason(rawValue: $0) }
    }

    /// Returns the reason of an error code. Two codes have several meanings.
    private static func reason(code: String, _ details: Details, message: String?) -> ProviderReason? {
        switch code {
        // A device that is not known to be dead must not end because of a wrong payload.
        case "INVALID_ARGUMENT":
            details.namesAddress || message == invalidTokenText ? .invalidToken : .invalidArgument
        case "QUOTA_EXCEEDED": details.namesProject ? .projectQuotaExceeded : .quotaExceeded
        // These are words of Carillon.
        case "INVALID_TOKEN", "PROJECT_QUOTA_EXCEEDED": nil
        default: printable(code).map { ProviderReason(rawValue: $0) }
        }
    }

    /// The only text by which FCM says that an address is malformed, if it does not name the member.
    private static let invalidTokenText = "The registration token is not a valid FCM registration token"

    private struct Details {
        /// The code of a detail of the type FcmError.
        var errorCode: String?
        /// The reason of a detail of the type ErrorInfo, from Google's front end.
        var errorInfo: String?
        var namesAddress = false
        var namesProject = false

        mutating func read(_ json: JSONDocument, _ detail: JSONDocument.Position) {
            guard let type = json.value("@type", in: detail).flatMap({ json.string($0) }) else { return }
            let text = { (name: StaticString) in json.value(name, in: detail).flatMap { json.string($0) } }
            if type.hasSuffix("google.firebase.fcm.v1.FcmError") {
                errorCode = errorCode ?? text("errorCode")
            } else if type.hasSuffix("google.rpc.ErrorInfo") {
                errorInfo = errorInfo ?? text("reason")
            } else if type.hasSuffix("google.rpc.BadRequest") {
                let fields = Self.texts(json, detail, "fieldViolations", "field")
                if fields.contains(where: { $0 == "message.token" || $0 == "message.fid" }) { namesAddress = true }
            } else if type.hasSuffix("google.rpc.QuotaFailure") {
                let subjects = Self.texts(json, detail, "violations", "subject")
                if subjects.contains(where: { $0.hasPrefix("project:") || $0.hasPrefix("projects/") }) {
                    namesProject = true
                }
            }
        }

        /// Returns the member `name` of the objects in the array `list`.
        private static func texts(
            _ json: JSONDocument, _ detail: JSONDocument.Position, _ list: StaticString, _ name: StaticString
        ) -> [String] {
            guard let list = json.value(list, in: detail), json.kind(list) == .array else { return [] }
            return json.elements(list).prefix(maxDetails).compactMap { element in
                guard json.kind(element) == .object else { return nil }
                return json.value(name, in: element).flatMap { json.string($0) }
            }
        }
    }

    /// The codes of FcmError. They have a meaning only in such a detail.
    private static let onlyErrorCodes: Set<String> = [
        "UNREGISTERED", "SENDER_ID_MISMATCH", "QUOTA_EXCEEDED", "THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR",
        "INVALID_TOKEN", "PROJECT_QUOTA_EXCEEDED", "UNSPECIFIED_ERROR",
    ]

    /// Returns a word that does not come from FCM itself. It never ends a device.
    private static func word(_ text: String) -> String? { onlyErrorCodes.contains(text) ? nil : printable(text) }

    /// Returns the text if it can stand in events and logs.
    private static func printable(_ text: String) -> String? {
        guard (1...maxWordLength).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21..<0x7f).contains($0) })
        else { return nil }
        return text
    }
}
