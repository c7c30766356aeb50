package import PushModel
import PushText

/// The request of `cancel/1`: `{"id": …, "app": …}`.
package struct CancelEnvelope: Sendable, Equatable {
    private static let maxLength = 4096

    package let id: MessageID
    /// The app, or the family.
    package let app: AppID
    /// The family with that name; nil for an app.
    package let family: Family?

    /// The apps whose messages are to be cancelled.
    package var apps: [AppID] { family?.members ?? [app] }

    /// Parses a request. The app must be one of `apps`, or a family of them.
    package static func read(_ bytes: [UInt8], apps: AppTable) throws(EnvelopeFault) -> CancelEnvelope {
        var given: String?
        do throws(Rejection) {
            let json: JSONDocument
            do throws(JSONError) {
                json = try JSONDocument(bytes, lengthLimit: maxLength)
            } catch {
                throw Rejection(.badJSON, detail: "\(error)")
            }
            guard json.kind(json.root) == .object else {
                throw Rejection(.badJSON, detail: "the request is \(json.kind(json.root).name), not an object")
            }
            if let key = json.repeatedKey() {
                throw Rejection(.badField, detail: "\"\(json.path(ofKey: key))\" is given twice")
            }
            var members: [String: JSONDocument.Position] = [:]
            for member in json.members(json.root) {
                let key = json.string(member.key) ?? ""
                guard key == "id" || key == "app" else {
                    let near = NearestWord.to(key, in: ["id", "app"])
                    throw Rejection(
                        .badField,
                        detail: "there is no key \"\(PlainText.name(key))\" in cancel/1"
                            + (near.map { "; did you mean \($0)?" } ?? ""))
                }
                members[key] = member.value
            }
            let text = try string("id", in: members, of: json)
            // The ack repeats an id only if it is not too long.
            given = text.utf8.count <= 128 ? text : nil
            guard let id = MessageID(text) else {
                throw Rejection(.badField, detail: "id must have 1 to 128 bytes and no control characters")
            }
            let name = try string("app", in: members, of: json)
            guard let app = AppID(name), apps.contains(app) else {
                throw Rejection(
                    .unknownApp, detail: "there is no app \"\(PlainText.name(name))\" in the configuration")
            }
            return CancelEnvelope(id: id, app: app, family: apps.family(app))
        } catch {
            throw EnvelopeFault(id: given, rejection: error, app: nil)
        }
    }

    private static func string(
        _ key: String, in members: [String: JSONDocument.Position], of json: JSONDocument
    ) throws(Rejection) -> String {
        guard let place = members[key] else { throw Rejection(.missingField, detail: "\(key) is missing") }
        guard let text = json.string(place) else {
            throw Rejection(.badField, detail: "\(key) is \(json.kind(place).name), not a string")
        }
        return text
    }
}
