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
            let request = try request(question)
            return Reply(
                try await audiences.count(request.audience, app: app, kind: request.message.kind))
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
                let message = request.message
                sum.add(
                    try await audiences.count(
                        request.audience, app: message.app, kind: message.kind, preferred: message.preferred),
                    of: message.app, service: apps.app(message.app)?.service ?? "")
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
            let faults = reader.finish().list.filter { !["/to", "/prefer"].contains($0.pointer) }
            guard faults.isEmpty else { throw .invalid(faults) }
            self.to = document.value(at: to)
            prefer = document.value("prefer", in: document.root).map { document.value(at: $0) }
        }
    }

    /// Reads an audience by the rules of messages, as a part of a message.
    private func request(_ question: Question, _ family: Family? = nil) throws(Problem) -> PushRequest {
        let app = question.app
        let members: [String: JSONValue?] = [
            "id": "audience", "app": .string(app.name), "to": question.to, "alert": "-",
            "push_type": .text(question.type), "prefer": question.prefer,
        ]
        let envelope = JSONValue.object(members.compactMapValues { $0 })
        let facts = (family?.members ?? [app]).map { AppFacts(id: $0, codec: apps.codec(of: $0)) }
        let reader = EnvelopeReader(apps: AppTable(facts, families: family.map { [$0] } ?? []))
        do throws(EnvelopeFault) {
            return try reader.read(envelope.bytes, now: UnixSeconds(0))
        } catch {
            let member = error.rejection.detail.hasPrefix("prefer") ? "/prefer" : "/to"
            throw .invalid(InputFault(.badValue, at: .pointer(member), detail: error.rejection.detail))
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
