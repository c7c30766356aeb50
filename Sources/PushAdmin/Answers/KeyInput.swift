import PushModel
import PushText
package import PushWire

/// A fault of one value in the body of a request.
package struct InputFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The place of the value as a JSON pointer, such as `/roles/0`.
    package let pointer: String
    /// A code of the closed set of the API: `missing`, `unknown_key`, `wrong_type`, `too_long`, `invalid`.
    package let code: String
    package let detail: String

    package var description: String { pointer.isEmpty ? detail : "\(pointer): \(detail)" }
}

/// Parses the description of an API key and finds all of its faults at once.
package struct KeyInput {
    package static let keys = ["name", "roles", "apps", "from", "expires_in_ms", "bearer", "rate"]
    private static let maxLifetime: Int64 = 36_525 * 86_400_000

    package private(set) var faults: [InputFault] = []
    private var name: APIKeyName?
    private var roles: RoleSet?
    private var apps: [AppID]?
    private var from: [AddressRange] = []
    private var lifetime: Duration?
    private var allowsBearer = false
    private var rate: Int?

    /// The key, if there are no faults.
    package var draft: KeyDraft? {
        guard faults.isEmpty, let name, let roles else { return nil }
        var draft = KeyDraft(name: name, roles: roles)
        (draft.apps, draft.from, draft.lifetime) = (apps, from, lifetime)
        (draft.allowsBearer, draft.rate) = (allowsBearer, rate)
        return draft
    }

    package init(_ document: JSONDocument) {
        guard document.kind(document.root) == .object else {
            fault("", "wrong_type", "the body is an object, not \(document.kind(document.root).name)")
            return
        }
        for member in document.members(document.root) {
            let key = document.string(member.key) ?? ""
            if document.kind(member.value) == .null, Self.keys.contains(key) { continue }
            switch key {
            case "name": readName(document, member.value)
            case "roles": readRoles(document, member.value)
            case "apps": readApps(document, member.value)
            case "from": readRanges(document, member.value)
            case "expires_in_ms":
                lifetime = integer(document, member.value, key, in: 1000...Self.maxLifetime).map { .milliseconds($0) }
            case "bearer":
                if let isAllowed = document.bool(member.value) {
                    allowsBearer = isAllowed
                } else {
                    fault("/bearer", "wrong_type", "must be true or false")
                }
            case "rate":
                rate = integer(document, member.value, key, in: 1...Int64(APIKey.maxRate)).map { Int($0) }
            default:
                let shown = PlainText.line(key, limit: 60)
                let nearest = NearestWord.to(shown, in: Self.keys)
                fault(
                    "/\(shown)", "unknown_key",
                    "there is no key \"\(shown)\""
                        + (nearest.map { "; did you mean \"\($0)\"?" } ?? "; the keys are "
                            + Self.keys.joined(separator: ", ")))
            }
        }
        if document.value("name", in: document.root) == nil { fault("/name", "missing", "a name is required") }
        if document.value("roles", in: document.root) == nil {
            fault("/roles", "missing", "at least one role is required: \(Self.roleNames)")
        }
    }

    private static var roleNames: String { Role.allCases.map(\.rawValue).joined(separator: ", ") }

    private mutating func fault(_ pointer: String, _ code: String, _ detail: String) {
        faults.append(InputFault(pointer: pointer, code: code, detail: detail))
    }

    private mutating func integer(
        _ document: JSONDocument, _ position: JSONDocument.Position, _ key: String, in range: ClosedRange<Int64>
    ) -> Int64? {
        guard let number = document.integer(position), range.contains(number) else {
            fault(
                "/\(key)", document.kind(position).isNumber ? "invalid" : "wrong_type",
                "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    private mutating func readName(_ document: JSONDocument, _ position: JSONDocument.Position) {
        guard let text = document.string(position) else { return fault("/name", "wrong_type", "must be a string") }
        name = APIKeyName(text)
        if name == nil { fault("/name", "invalid", "must be 1 to 64 letters, digits, '.', '_' and '-'") }
    }

    /// Returns the strings of an array with their pointers; a value that is not a string is a fault.
    private mutating func texts(
        _ document: JSONDocument, _ position: JSONDocument.Position, _ key: String, limit: Int
    ) -> [(pointer: String, text: String)] {
        guard document.kind(position) == .array else {
            fault("/\(key)", "wrong_type", "must be an array of strings")
            return []
        }
        var texts: [(String, String)] = []
        for (index, element) in document.elements(position).enumerated() {
            guard index < limit else {
                fault("/\(key)", "too_long", "has more than \(limit) elements")
                break
            }
            if let text = document.string(element) {
                texts.append(("/\(key)/\(index)", text))
            } else {
                fault("/\(key)/\(index)", "wrong_type", "must be a string")
            }
        }
        if texts.isEmpty, document.elements(position).first(where: { _ in true }) == nil {
            fault("/\(key)", "invalid", "must not be empty; leave it out instead")
        }
        return texts
    }

    private mutating func readRoles(_ document: JSONDocument, _ position: JSONDocument.Position) {
        var granted: [Role] = []
        for (pointer, text) in texts(document, position, "roles", limit: Role.allCases.count) {
            if let role = Role(rawValue: text) {
                granted.append(role)
            } else {
                let shown = PlainText.line(text, limit: 60)
                let nearest = NearestWord.to(shown, in: Role.allCases.map(\.rawValue))
                fault(
                    pointer, "invalid",
                    "there is no role \"\(shown)\""
                        + (nearest.map { "; did you mean \"\($0)\"?" } ?? "; the roles are \(Self.roleNames)"))
            }
        }
        roles = RoleSet(granted)
    }

    private mutating func readApps(_ document: JSONDocument, _ position: JSONDocument.Position) {
        var ids: [AppID] = []
        for (pointer, text) in texts(document, position, "apps", limit: APIKey.maxApps) {
            guard let app = AppID(text) else {
                fault(pointer, "invalid", "an app id has 1 to 64 letters, digits, '.', '_' and '-'")
                continue
            }
            if !ids.contains(app) { ids.append(app) }
        }
        apps = ids
    }

    private mutating func readRanges(_ document: JSONDocument, _ position: JSONDocument.Position) {
        for (pointer, text) in texts(document, position, "from", limit: APIKey.maxRanges) {
            do {
                let range = try AddressRange(text)
                if !from.contains(range) { from.append(range) }
            } catch {
                fault(pointer, "invalid", "\(error)")
            }
        }
    }
}
