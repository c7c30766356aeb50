package import PushModel
import PushText
package import PushTime
import PushWire

/// `/v1/keys`: the API keys.
package struct KeyRoutes: Sendable {
    package static let maxPageSize = 1000

    private let registrar: KeyRegistrar
    /// Returns the apps of the configuration in force. If it is nil, any app is accepted.
    private let apps: (@Sendable () async -> [AppID])?
    private let now: @Sendable () -> WallTime

    package init(
        _ registrar: KeyRegistrar, apps: (@Sendable () async -> [AppID])? = nil,
        now: @escaping @Sendable () -> WallTime = { .current() }
    ) {
        self.registrar = registrar
        self.apps = apps
        self.now = now
    }

    package var all: [AdminRoute] {
        [
            AdminRoute(.get, at: "/v1/keys", query: ["ended", "after", "limit"]) { try page($0.query) },
            AdminRoute(.post, at: "/v1/keys") { try await add($0.body) },
            AdminRoute(.post, at: "/v1/keys/{name}/rotate") { request in
                let name = try name(request)
                let overlap = try overlap(request.body)
                let made = try await translated { try await registrar.rotate(name, overlap: overlap) }
                return MadeKeyAnswer(made, at: now())
            },
            AdminRoute(.post, at: "/v1/keys/{name}/revoke") { request in
                let name = try name(request)
                let revoked = try await translated { try await registrar.revoke(name) }
                return KeyListAnswer(keys: revoked.map { KeyAnswer($0, at: now()) })
            },
        ]
    }

    /// Returns a page of the valid keys, or of all keys with `ended=true`.
    private func page(_ query: AdminQuery) throws(AdminFault) -> KeyListAnswer {
        let now = now()
        let withEnded = try query.flag("ended") ?? false
        let limit = try query.number("limit", in: 1...Self.maxPageSize) ?? 100
        let all = registrar.keys
        var start = 0
        if let cursor = query.text("after") {
            // The cursor is the id of the last key of a page. Keys are forgotten 90 days after their end.
            guard let id = APIKeyID(cursor), let index = all.firstIndex(where: { $0.id == id }) else {
                throw AdminFault(400, code: "bad_cursor", message: "after must be the next of an earlier answer")
            }
            start = index + 1
        }
        let rest = all[start...].filter { withEnded || $0.isValid(at: now) }
        return KeyListAnswer(
            keys: rest.prefix(limit).map { KeyAnswer($0, at: now) },
            next: rest.count > limit ? rest[limit - 1].id.description : nil)
    }

    private func add(_ body: [UInt8]) async throws -> MadeKeyAnswer {
        let input = KeyInput(try document(body))
        guard let draft = input.draft else {
            throw AdminFault.badRequest(input.faults.map(\.description).joined(separator: "; "))
        }
        if let known = await apps?(), let other = draft.apps?.first(where: { !known.contains($0) }) {
            throw AdminFault.unknownApp(other.name)
        }
        let made = try await translated { try await registrar.add(draft) }
        return MadeKeyAnswer(made, at: now())
    }

    private func name(_ request: AdminRequest) throws(AdminFault) -> APIKeyName {
        let text = request.parameter("name")
        guard let name = APIKeyName(text) else {
            throw .badRequest(
                "\"\(PlainText.line(text, limit: 60))\" is not the name of a key: 1 to 64 letters, digits, '.', '_' and "
                    + "'-'")
        }
        return name
    }

    private func overlap(_ body: [UInt8]) throws(AdminFault) -> Duration {
        let most = KeyRegistrar.maxOverlap.components.seconds * 1000
        let rule = "send {\"overlap_ms\":3600000}, from 0 to \(most)"
        let document = try document(body)
        for member in document.members(document.root) where !document.isString(member.key, equalTo: "overlap_ms") {
            let key = PlainText.line(document.string(member.key) ?? "", limit: 60)
            throw .badRequest("there is no key \"\(key)\" here; \(rule)")
        }
        guard let value = document.value("overlap_ms", in: document.root), let overlap = document.integer(value),
            (0...most).contains(overlap)
        else { throw .badRequest(rule) }
        return .milliseconds(overlap)
    }

    private func document(_ body: [UInt8]) throws(AdminFault) -> JSONDocument {
        let document: JSONDocument
        do {
            document = try JSONDocument(body, depthLimit: 8)
        } catch {
            throw .badRequest("the body is not JSON: \(error)")
        }
        if let key = document.repeatedKey() {
            throw .badRequest("the key \"\(PlainText.line(document.string(key) ?? "", limit: 60))\" is given twice")
        }
        return document
    }

    /// Runs a change and gives its faults the status of an answer.
    private func translated<Value>(_ change: () async throws -> Value) async throws -> Value {
        do {
            return try await change()
        } catch let fault as KeyBookFault {
            switch fault {
            case .nameTaken: throw AdminFault(422, code: "name_taken", message: fault.description)
            case .unknownName: throw AdminFault(404, code: "unknown_key", message: fault.description)
            case .tooMany: throw AdminFault(422, code: "too_many", message: fault.description)
            }
        } catch let fault as KeyRegistrar.Fault {
            throw AdminFault(500, code: "no_sealing_key", message: fault.description)
        }
    }
}
