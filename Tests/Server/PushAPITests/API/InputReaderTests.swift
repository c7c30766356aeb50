import PushModel
import PushTransport
import PushWire
import TestTraits
import Testing

@testable import PushAPI

/// How the values of a request are read, and what is said of faults.
@Suite struct InputReaderTests {
    private enum Color: String, CaseIterable { case red, green }

    private struct Sample: EndpointInput {
        let app: AppID
        let limit: Int?
        let name: String
        let color: Color?
        let tags: [String]?
        let place: Point?

        struct Point: Equatable {
            let x: Int
            let y: Int
        }

        init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
            limit = read.query("limit", as: .integer(1...10), about: "The limit.")
            name = read.body("name", as: .text(1...5), about: "The name.")
            color = read.optional("color", as: .choice, about: "The color.")
            tags = read.optional("tags", as: .list(of: .text(1...3), count: 0...2), about: "The tags.")
            place = read.optional(
                "place",
                as: .object { read in
                    Point(
                        x: read.body("x", as: .integer(0...9), about: "The x."),
                        y: read.optional("y", as: .integer(0...9), about: "The y.") ?? 0)
                }, about: "The place.")
        }
    }

    private func read(
        _ body: String, app: String = "shop", query: [(String, String)] = [], form: [(String, String)]? = nil
    ) throws -> (sample: Sample, faults: [InputFault]) {
        let items = query.map { HTTP1QueryItem(name: $0.0, value: $0.1) }
        var reader =
            if let form {
                InputReader(
                    path: ["app": app], query: items, form: form.map { HTTP1QueryItem(name: $0.0, value: $0.1) })
            } else {
                InputReader(path: ["app": app], query: items, document: try JSONDocument(Array(body.utf8)))
            }
        let sample = Sample(&reader)
        return (sample, reader.finish().list)
    }

    @Test func `A valid body is read`() throws {
        let (sample, faults) = try read(
            #"{"name":"ada","color":"green","tags":["a","b"],"place":{"x":3}}"#, query: [("limit", "7")])
        #expect(faults.isEmpty && sample.name == "ada" && sample.color == .green && sample.tags == ["a", "b"])
        #expect(sample.place == .init(x: 3, y: 0) && sample.limit == 7 && sample.app == AppID("shop"))
    }

    @Test func `A form is read as a body`() throws {
        let (sample, faults) = try read("", form: [("name", "ada"), ("tags", "a,b")])
        #expect(faults.isEmpty && sample.name == "ada" && sample.tags == ["a", "b"] && sample.color == nil)
        let (_, more) = try read("", form: [("nam", "ada")])
        #expect(more.map(\.pointer) == ["/name", "/nam"] && more.map(\.code) == [.missing, .unknown])
    }

    /// A filter whose value is the unset variable of a client must not select everything.
    @Test func `An empty value of the query is too short`() throws {
        let (sample, faults) = try read(#"{"name":"ada"}"#, query: [("limit", "")])
        #expect(sample.limit == nil && faults.map(\.code) == [.tooShort] && faults.first?.parameter == "limit")
    }

    @Test(arguments: [
        (#"{"name":"a","name":"b"}"#, "/name"), (#"{"name":"a","place":{"x":1,"x":2}}"#, "/place/x"),
        (#"{"name":"a","place":{"x":1,"a~/b":2,"a~\u002fb":2}}"#, "/place/a~0~1b"),
        (#"{"name":"a","tags":[1,{"u":1,"u":2}]}"#, "/tags/1/u"),
    ])
    func `The fault of a repeated key has its place`(body: String, pointer: String) throws {
        #expect(try read(body).faults.contains { $0.code == .repeated && $0.pointer == pointer })
    }

    @Test func `Null is the same as an absent value`() throws {
        let (sample, faults) = try read(#"{"name":"ada","color":null,"tags":null}"#)
        #expect(faults.isEmpty && sample.color == nil && sample.tags == nil)
        #expect(try read(#"{"name":null}"#).faults.map(\.code) == [.missing])
    }

    @Test func `All faults of a request are reported at once, each with its place`() throws {
        let body = #"{"name":"adalovelace","color":"blue","tags":[5,"long"],"place":{"x":"1","z":1},"more/~":1}"#
        let (_, faults) = try read(body, app: "a/b", query: [("limit", "11"), ("limits", "1"), ("limit", "2")])
        let places = faults.map { $0.pointer ?? $0.parameter ?? "" }
        #expect(
            places == [
                "app", "limit", "/name", "/color", "/tags/0", "/tags/1", "/place/x", "/place/z", "limits", "limit",
                "/more~1~0",
            ])
        #expect(
            faults.map(\.code) == [
                .badValue, .tooGreat, .tooLong, .badValue, .wrongType, .tooLong, .wrongType, .unknown, .unknown,
                .repeated, .unknown,
            ])
        #expect(faults[8].detail == "there is no query parameter \"limits\" here; did you mean \"limit\"?")
    }

    /// With a search in the earlier names, this would take hours, and the time limit would end it.
    @Test(.waits)
    func `The largest form and the largest query have a cost that grows with their size`() throws {
        let form = Array(repeating: ("x", ""), count: 300_000) + Array(repeating: ("name", ""), count: 200_000)
        let (_, faults) = try read("{}", query: form, form: form)
        #expect(faults.count == InputFaults.limit)
        let keys = (0..<100_000).map { "\"\($0)\":1" }.joined(separator: ",")
        #expect(try read("{\(keys)}").faults.count == InputFaults.limit)
    }

    @Test func `The number of reported faults is bounded`() throws {
        let members = (0..<5000).map { "\"k\($0)\":1" }.joined(separator: ",")
        let (_, faults) = try read("{\"name\":\"a\",\(members)}")
        #expect(faults.count == InputFaults.limit)
    }

    @Test(arguments: [
        ("[1]", "an object is expected, not an array"), ("5", "an object is expected, not a number"),
        (#"{"name":"a","name":"b"}"#, "the key \"name\" is given twice in one object"),
        (#"{"name":"a","place":{"x":1,"x":2}}"#, "the key \"x\" is given twice in one object"),
        (#"{"name":"a\u0000b"}"#, "the text contains a control character"),
    ])
    func `A body that breaks the rules is rejected`(body: String, detail: String) throws {
        #expect(try read(body).faults.contains { $0.detail == detail })
    }

    @Test(arguments: ["", "-", "+5", "0x5", "5 ", "1e3", "99999999999999999999", "٣"])
    func `Text that is not a whole number is rejected`(text: String) throws {
        var faults = InputFaults()
        #expect(Form<Int>.integer(0...100).readText?(text, &faults) == nil && faults.count == 1)
    }

    @Test func `The declaration contains each value once, with its schema`() {
        var reader = InputReader()
        _ = Sample(&reader)
        let declared = reader.declared
        #expect(declared.values.map(\.name) == ["app", "limit", "name", "color", "tags", "place"])
        #expect(declared.values(in: .body).filter(\.isRequired).map(\.name) == ["name"])
        guard case .object(let schema) = declared.bodySchema, case .object(let properties)? = schema["properties"]
        else {
            Issue.record("no schema")
            return
        }
        #expect(Set(properties.keys) == ["name", "color", "tags", "place"])
        #expect(schema["required"] == ["name"] && schema["additionalProperties"] == false)
        #expect(declared.values(in: .query).map(\.schema) == [["type": "integer", "minimum": 1, "maximum": 10]])
    }

    /// A body or a query that a client makes from the schema must be accepted, and no other.
    @Test func `The schema declares what the reader takes for an absent value`() {
        var reader = InputReader()
        _ = Sample(&reader)
        _ = reader.query("user", as: .text(0...9), about: "The user.")
        reader.ignoreOthers()
        guard case .object(let schema) = reader.declared.bodySchema, case .object(let members)? = schema["properties"],
            case .object(let color)? = members["color"], case .object(let tags)? = members["tags"],
            case .object(let place)? = members["place"], case .object(let inPlace)? = place["properties"],
            case .object(let name)? = members["name"], case .object(let user)? = reader.declared.values.last?.schema
        else {
            Issue.record("no schema")
            return
        }
        #expect(color["type"] == ["string", "null"] && color["enum"] == ["red", "green", .null])
        #expect(tags["type"] == ["array", "null"] && place["type"] == ["object", "null"])
        #expect(name["type"] == "string" && inPlace["x"]?["type"] == "integer")
        #expect(inPlace["y"]?["type"] == ["integer", "null"])
        #expect(user["minLength"] == 1 && schema["additionalProperties"] == true)
    }

    @Test(arguments: [
        ("{}", false), (#"{"a":null,"b":null}"#, false), (#"{"a":1,"b":2}"#, false), (#"{"a":1}"#, true),
        (#"{"b":2}"#, true), (#"{"a":null,"b":2}"#, true), (#"{"a":1,"b":null}"#, true),
    ])
    func `Null names neither of two members of which one is needed`(body: String, isValid: Bool) throws {
        var reader = InputReader(path: [:], query: [], document: try JSONDocument(Array(body.utf8)))
        _ = reader.optional("a", as: Form<Int>.integer(0...9), about: "The first.")
        _ = reader.optional("b", as: Form<Int>.integer(0...9), about: "The second.")
        reader.requireOne(of: "a", or: "b", detail: "give a or b")
        #expect(reader.finish().isEmpty == isValid)
    }
}

extension JSONValue {
    fileprivate subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}
