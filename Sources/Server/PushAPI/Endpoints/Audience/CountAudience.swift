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
                        "live_activity": [
                            "type": ["object", "null"],
                            "description": "The Live Activity of the messages: its event and type pick the addresses.",
                            "required": ["event"],
                            "properties": [
                                "event": ["type": "string", "enum": ["start", "update", "end"]],
                                "type": ["type": "string"],
                            ],
                        ],
                        "prefer": EnvelopeSchema.prefer,
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
        let question = try Question(try RequestInput.document(body))
        let app = question.app
        if let family = try apps.family(app, for: caller) { return Reply(try await count(question, of: family)) }
        try apps.check(app)
        do {
            return Reply(try await audiences.count(try request(question)))
        } catch let fault as AudienceFault {
            throw Problem.invalid(InputFault(.badValue, at: .pointer("/to"), detail: fault.description))
        }
    }

    /// Counts the devices of all members. The first ones are those of the first members.
    private func count(_ question: Question, of family: Family) async throws -> AudienceAnswer {
        let request = try request(question, family)
        var sum = AudienceAnswer(count: 0, isComplete: true, devices: [], inactive: 0, unknown: 0, ofOtherKinds: 0)
        do {
            for request in [request] + (request.fellows?.others ?? []) {
                let app = request.message.app
                sum.add(try await audiences.count(request), of: app, service: apps.app(app)?.service ?? "")
            }
        } catch let fault as AudienceFault {
            throw Problem.invalid(InputFault(.badValue, at: .pointer("/to"), detail: fault.description))
        }
        return sum
    }

    private struct Question {
        let app: AppID
        let to: JSONValue
        let type: String?
        let activity: JSONValue?
        let prefer: JSONValue?

        init(_ document: JSONDocument) throws(Problem) {
            var reader = InputReader(path: [:], query: [], document: document)
            app = reader.body("app", as: .app, about: "The app.")
            type = reader.optional("push_type", as: .text(1...64), about: "The type of the messages.")
            guard document.kind(document.root) == .object else { throw .invalid(reader.finish().list) }
            guard let to = document.value("to", in: document.root) else {
                throw .invalid(InputFault(.missing, at: .pointer("/to"), detail: "the value is missing"))
            }
            // These are read by the rules of messages.
            let faults = reader.finish().list.filter { !["/to", "/live_activity", "/prefer"].contains($0.pointer) }
            guard faults.isEmpty else { throw .invalid(faults) }
            self.to = document.value(at: to)
            if let position = document.value("live_activity", in: document.root), document.kind(position) != .null {
                activity = Self.activity(document.value(at: position))
            } else {
                activity = .none
            }
            prefer = document.value("prefer", in: document.root).map { document.value(at: $0) }
        }

        /// Returns the smallest content with the same event and type, which the rules of messages take.
        private static func activity(_ given: JSONValue) -> JSONValue {
            guard case .object(let members) = given else { return given }
            var content: [String: JSONValue] = ["content_state": [:]]
            content["event"] = members["event"]
            guard members["event"] == "start" else { return .object(content) }
            content["type"] = members["type"]
            content["attributes"] = [:]
            content["alert"] = ["title": "-"]
            return .object(content)
        }
    }

    /// Reads an audience by the rules of messages, as a part of a message.
    private func request(_ question: Question, _ family: Family? = nil) throws(Problem) -> PushRequest {
        let app = question.app
        var members: [String: JSONValue] = ["id": "audience", "app": .string(app.name), "to": question.to]
        if let type = question.type { members["push_type"] = .string(type) }
        if let prefer = question.prefer { members["prefer"] = prefer }
        if let activity = question.activity { members["live_activity"] = activity } else { members["alert"] = "-" }
        let envelope = JSONValue.object(members)
        let facts = (family?.members ?? [app]).map { AppFacts(id: $0, codec: apps.codec(of: $0)) }
        let reader = EnvelopeReader(apps: AppTable(facts, families: family.map { [$0] } ?? []))
        do throws(EnvelopeFault) {
            return try reader.read(envelope.bytes, now: UnixSeconds(0))
        } catch {
            let detail = error.rejection.detail
            let member = ["prefer", "live_activity"].first { detail.trimmingPrefix("/").hasPrefix($0) } ?? "to"
            throw .invalid(InputFault(.badValue, at: .pointer("/\(member)"), detail: detail))
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
