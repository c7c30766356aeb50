import PushModel
import PushWire
import Testing

@Suite struct EnvelopeBatchTests {
    typealias Examples = EnvelopeExamples

    static func line(_ number: Int, _ members: String = #""alert":"Hi""#) -> String {
        #"{"id":"m-\#(number)","app":"shop","to":{"users":["u"]},\#(members)}"#
    }

    @Test(arguments: ["", "\n"])
    func `Valid and invalid lines are reported in order`(_ end: String) throws {
        let lines = [
            Self.line(0), "", Self.line(2) + "\r", "{", Self.line(4, #""bogus":1"#), Self.line(5), "[1]",
            Self.line(7, #""payload":{"x":1}"#), Self.line(8) + Self.line(8), Self.line(9),
        ]
        let results = try Examples.batch(lines.joined(separator: "\n") + end)
        let told = results.map { result in
            switch result {
            case .success(let request): request.message.id.text
            case .failure(let fault): "\(fault.rejection.reason.rawValue) \(fault.id ?? "-")"
            }
        }
        #expect(
            told == [
                "m-0", "bad_json -", "m-2", "bad_json -", "bad_field m-4", "m-5", "bad_json -", "m-7", "bad_json m-8",
                "m-9",
            ])
    }

    @Test func `A line must contain its payload`() throws {
        let results = try Examples.batch(Self.line(0, #""again":true"#))
        #expect(throws: EnvelopeFault.self) { try results[0].get() }
        guard case .failure(let fault) = results[0] else { return }
        #expect(fault.rejection.reason == .missingField)
    }

    @Test func `A batch has at least one line and at most ten thousand`() throws {
        #expect(throws: Rejection(.badFrame, detail: "there is no line in the frame")) { _ = try Examples.batch("") }
        #expect(try Examples.batch("\n").count == 1)
        #expect(try Examples.batch(String(repeating: "{}\n", count: 10_000)).count == 10_000)
        for end in ["x", "\n"] {
            let text = String(repeating: "{}\n", count: 10_000) + end
            #expect(throws: Rejection(.tooMany, detail: "there are more than 10000 lines")) {
                _ = try Examples.batch(text)
            }
        }
    }

    @Test func `A line is parsed alike at every position`() throws {
        for padding in 0..<130 {
            let text = Self.line(0) + "\n" + Self.line(1) + String(repeating: " ", count: padding)
            let results = try Examples.batch(text)
            #expect(try results.map { try $0.get().message.id.text } == ["m-0", "m-1"])
        }
    }
}
