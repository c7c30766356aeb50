package import PushModel
import PushTime
import PushWire

/// `POST /v1/audience`: how many devices an audience names now, and the first of them.
package struct CountAudience: RawBodyEndpoint {
    package static let operation = Operation(
        .post, at: "/v1/audience", id: "countAudience", access: .role(.observe), subject: "Messages",
        summary: "Counts the devices of an audience: {\"app\": …, \"to\": …}, as in a message.",
        body: .raw([
            .init(
                "application/json",
                schema: [
                    "type": "object", "required": ["app", "to"], "additionalProperties": false,
                    "properties": [
                        "app": EnvelopeSchema.app, "to": EnvelopeSchema.audience,
                        "push_type": [
                            "type": ["string", "null"], "enum": .array(EnvelopeSchema.pushTypes + [.null]),
                            "description":
                                "The type of the messages, which picks the kind of address; alert by default.",
                        ],
                    ],
                ],
                named: "AudienceQuestion", example: ["app": "shop", "to": ["tags": ["any": ["beta", "vip"]]]])
        ]), problems: [.unknownApp])

    private let audiences: AudienceCount
    private let apps: AppCatalog

    package init(audiences: AudienceCount, apps: AppCatalog) {
        self.audiences = audiences
        self.apps = apps
    }

    package func answer(_ input: NoInput, body: [UInt8], for caller: Caller) async throws -> Reply<AudienceAnswer> {
        let (app, to, type) = try Self.members(of: try RequestInput.document(body))
        if let family = apps.family(app) { return Reply(try await count(to, type: type, of: family, for: caller)) }
        try caller.check(app)
        try apps.check(app)
        do {
            let request = try request(to, type: type, app: app)
            return Reply(
                try await audiences.count(request.audience, app: app, kind: request.message.kind))
        } catch let fault as AudienceFault {
            throw Problem.invalid(InputFault(.badValue, at: .pointer("/to"), detail: fault.description))
        }
    }

    /// Counts the devices of all members. The first ones are those of the first members.
    private func count(
        _ to: JSONValue, type: String?, of family: Family, for caller: Caller
    ) async throws -> AudienceAnswer {
        guard family.members.allSatisfy({ caller.has($0) }) else { throw Self.noRight(for: family.name, caller) }
        let request = try request(to, type: type, app: family.name, family)
        var sum = AudienceAnswer(count: 0, isComplete: true, devices: [], inactive: 0, unknown: 0, ofOtherKinds: 0)
        do {
            for request in [request] + (request.fellows?.others ?? []) {
                let message = request.message
                sum.add(try await audiences.count(request.audience, app: message.app, kind: message.kind))
            }
        } catch let fault as AudienceFault {
            throw Problem.invalid(InputFault(.badValue, at: .pointer("/to"), detail: fault.description))
        }
        return sum
    }

    private static func noRight(for app: AppID, _ caller: Caller) -> Problem {
        do throws(Problem) { try caller.check(app) } catch { return error }
        return Problem(.forbidden, detail: "the key \(caller.name) has no right for all apps of \"\(app)\"")
    }

    private static func members(of document: JSONDocument) throws(Problem) -> (AppID, JSONValue, type: String?) {
        var reader = InputReader(path: [:], query: [], document: document)
        let app = reader.body("app", as: .app, about: "The app.")
        let type = reader.optional("push_type", as: .text(1...64), about: "The type of the messages.")
        guard document.kind(document.root) == .object else { throw .invalid(reader.finish().list) }
        guard let to = document.value("to", in: document.root) else {
            throw .invalid(InputFault(.missing, at: .pointer("/to"), detail: "the value is missing"))
        }
        let faults = reader.finish().list.filter { $0.pointer != "/to" }
        guard faults.isEmpty else { throw .invalid(faults) }
        return (app, document.value(at: to), type)
    }

    /// Reads an audience by the rules of messages, as a part of a message.
    private func request(
        _ to: JSONValue, type: String?, app: AppID, _ family: Family? = nil
    ) throws(Problem) -> PushRequest {
        let members: [String: JSONValue?] = [
            "id": "audience", "app": .string(app.name), "to": to, "alert": "-", "push_type": .text(type),
        ]
        let envelope = JSONValue.object(members.compactMapValues { $0 })
        let facts = (family?.members ?? [app]).map { AppFacts(id: $0, codec: apps.codec(of: $0)) }
        let reader = EnvelopeReader(apps: AppTable(facts, families: family.map { [$0] } ?? []))
        do throws(EnvelopeFault) {
            return try reader.read(envelope.bytes, now: UnixSeconds(0))
        } catch {
            throw .invalid(InputFault(.badValue, at: .pointer("/to"), detail: error.rejection.detail))
        }
    }
}

extension EnvelopeReader {
    fileprivate func read(_ envelope: [UInt8], now: UnixSeconds) throws(EnvelopeFault) -> PushRequest {
        let result = unsafe envelope.withUnsafeBytes { bytes -> Result<PushRequest, EnvelopeFault> in
            do throws(EnvelopeFault) {
                return .success(try unsafe read(bytes, payload: nil, now: now))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
