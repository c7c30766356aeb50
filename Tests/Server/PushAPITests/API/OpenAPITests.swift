import FoundationEssentials
import PushLoop
import PushModel
import PushStore
import PushTime
import ServerTestSupport
import Testing

@testable import PushAPI
@testable import PushWire

extension PipelineScene {
    /// The endpoints of gateways and of a pipeline whose parts answer nothing of interest.
    static func endpoints(on loop: EventLoop) -> [AnyEndpoint] {
        let events = FakeEvents()
        return GatewayEndpoints.all(ScriptedGateways())
            + PipelineEndpoints.all(
                on: loop, streams: EventStreams(), devices: FakeDevices(identities), events: events,
                waiting: events.waiting,
                statistics: FakeStatistics([StatsAnswer(at: 2000, startedAt: 1000, ready: true)]),
                identities: identities, apps: .sample(nil))
    }
}

/// The OpenAPI document, and the answers that it promises.
@Suite struct OpenAPITests {
    private static let loop = EventLoop(name: "openapi-test")

    private static func document() throws -> JSONValue {
        OpenAPIDocument.make(of: PipelineScene.endpoints(on: loop), version: "1")
    }

    @Test func `Every reference leads to a schema or an answer`() throws {
        let document = try Self.document()
        var references: Set<String> = []
        func walk(_ value: JSONValue) {
            switch value {
            case .object(let members):
                if case .string(let reference)? = members["$ref"] { references.insert(reference) }
                members.values.forEach(walk)
            case .array(let elements): elements.forEach(walk)
            default: break
            }
        }
        walk(document)
        #expect(references.contains("#/components/schemas/Device"))
        for reference in references {
            #expect(SchemaCheck(document: document).resolve(reference) != nil, "\(reference)")
        }
    }

    @Test func `The schemas are found by decoding`() throws {
        let document = try Self.document()
        guard case .object(let device)? = SchemaCheck(document: document).resolve("#/components/schemas/Device"),
            case .object(let properties)? = device["properties"]
        else {
            Issue.record("no schema of a device")
            return
        }
        #expect(properties["device"] == ["type": "string"] && properties["active"] == ["type": "boolean"])
        #expect(properties["tags"] == ["type": "array", "items": ["type": "string"]])
        #expect(properties["registered_at"] == WallTime.jsonSchema)
        #expect(device["required"] == ["app", "active", "tags", "device"])
    }

    @Test func `Answers agree with their schemas`() throws {
        let check = SchemaCheck(document: try Self.document())
        func faults(_ type: String, _ json: [UInt8]) throws -> [String] {
            let document = try JSONDocument(json)
            return check.faults(of: document.value(at: document.root), under: "#/components/schemas/\(type)")
        }
        #expect(try faults("Device", APIAnswer.json(FieldNamesTests.device).body) == [])
        #expect(try faults("MessageSummary", APIAnswer.json(FieldNamesTests.message).body) == [])
        #expect(try faults("Stats", APIAnswer.json(FieldNamesTests.statistics).body) == [])
        #expect(try faults("Problem", APIAnswer(Problem(.notFound, detail: "x")).body) == [])
        let page = DeviceListAnswer(devices: [FieldNamesTests.device], next: .end)
        #expect(try faults("DeviceList", APIAnswer.json(page).body) == [])
        // The check can fail.
        #expect(try faults("Device", Array(#"{"device":5,"app":"a","active":true}"#.utf8)).count == 2)
        #expect(try faults("Problem", Array(#"{"code":"none"}"#.utf8)).count == 5)
    }
}

extension OpenAPITests {
    @Test func `The schema of a message has the keys of an envelope`() throws {
        guard case .object(let rules) = EnvelopeSchema.envelope, case .object(let properties)? = rules["properties"]
        else {
            Issue.record("no properties")
            return
        }
        #expect(Set(properties.keys) == Set(EnvelopeKey.allCases.map(\.name)))
    }

    @Test func `The codes of HTTP's refusals have their status`() {
        #expect(Set(ProblemCode.allCases.map(\.title)).count == ProblemCode.allCases.count)
        for code in Problem.ofAnyRequest { #expect((400...599).contains(code.status)) }
    }
}

/// Compares values with the schemas of an OpenAPI document, as far as those use JSON Schema.
struct SchemaCheck {
    let document: JSONValue

    func resolve(_ reference: String) -> JSONValue? {
        var value = document
        for part in reference.split(separator: "/").dropFirst() {
            guard case .object(let members) = value, let next = members[String(part)] else { return nil }
            value = next
        }
        return value
    }

    func faults(of value: JSONValue, under reference: String) -> [String] {
        guard let schema = resolve(reference) else { return ["no schema \(reference)"] }
        return faults(of: value, schema: schema, at: "")
    }

    private func faults(of value: JSONValue, schema: JSONValue, at place: String) -> [String] {
        guard case .object(let rules) = schema else { return [] }
        if case .string(let reference)? = rules["$ref"] {
            guard let target = resolve(reference) else { return ["\(place): no schema \(reference)"] }
            return faults(of: value, schema: target, at: place)
        }
        var found: [String] = []
        if let type = rules["type"] {
            let allowed: [JSONValue] = if case .array(let types) = type { types } else { [type] }
            if !allowed.contains(where: { Self.has(value, type: $0) }) { found.append("\(place): not \(type)") }
        }
        if case .array(let words)? = rules["enum"], !words.contains(value) { found.append("\(place): not in enum") }
        if case .object(let members) = value {
            let properties: [String: JSONValue] =
                if case .object(let all)? = rules["properties"] { all } else { [:] }
            if case .array(let required)? = rules["required"] {
                for case .string(let name) in required where members[name] == nil {
                    found.append("\(place)/\(name): missing")
                }
            }
            for (name, member) in members {
                guard let schema = properties[name] ?? rules["additionalProperties"] else {
                    found.append("\(place)/\(name): not declared")
                    continue
                }
                found += faults(of: member, schema: schema, at: "\(place)/\(name)")
            }
        }
        if case .array(let elements) = value, let schema = rules["items"] {
            for element in elements { found += faults(of: element, schema: schema, at: "\(place)/0") }
        }
        return found
    }

    private static func has(_ value: JSONValue, type: JSONValue) -> Bool {
        switch (value, type) {
        case (.object, "object"), (.array, "array"), (.string, "string"), (.bool, "boolean"), (.null, "null"),
            (.integer, "integer"), (.integer, "number"), (.number, "number"):
            true
        default: false
        }
    }
}
