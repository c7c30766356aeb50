import PushModel
import PushWire
import Testing

/// Replay requests and answers of a cluster.
@Suite struct ReplayPartsTests {
    private func place(_ text: String) -> LogPosition { LogPosition(text) ?? LogPosition() }

    @Test func `A request names one part or a place in all of them`() throws {
        let one = try ReplayRequestTests.read(#"{"since":7,"part":3}"#)
        #expect(one == ReplayRequest(since: 7, part: 3) && one.since == .number(7, part: 3))
        let all = try ReplayRequestTests.read(#"{"since":{"3":17,"5":90,"0":0},"limit":5}"#)
        #expect(all == ReplayRequest(since: .place(place("3:17,5:90")), limit: 5))
        #expect(try ReplayRequestTests.read(#"{"since":{}}"#).since == .place(LogPosition()))
    }

    @Test func `The largest place fits into a request`() throws {
        let list = (0..<256).map { "\"\($0)\":281474976710655" }.joined(separator: ",")
        let text = "{\"since\":{\(list)},\"prefix\":\"\(String(repeating: "x", count: 255))\"}"
        #expect(text.utf8.count < ReplayRequest.maxLengthWithParts)
        guard case .place(let place) = try ReplayRequestTests.read(text).since else {
            Issue.record("the request has no place")
            return
        }
        #expect(place.parts.count == 256 && place[255] == EventNumber.maxWithin)
    }

    @Test(
        arguments: [
            (#"{"since":{"256":1}}"#, "0 to 255"), (#"{"since":{"-1":1}}"#, "0 to 255"),
            (#"{"since":{"03":1}}"#, "0 to 255"), (#"{"since":{"x":1}}"#, "0 to 255"),
            (#"{"since":{"1":-1}}"#, "since.1 is -1"), (#"{"since":{"1":"2"}}"#, "since.1 is a string"),
            (#"{"since":{"1":281474976710656}}"#, "281474976710655"), (#"{"since":{"1":1,"1":2}}"#, "twice"),
            (#"{"since":{"1":1},"part":1}"#, "leave out part"), (#"{"part":256}"#, "part is 256"),
            (#"{"part":-1}"#, "part is -1"), (#"{"since":[1]}"#, "an array"),
        ])
    func `A place that cannot be is refused`(_ text: String, _ words: String) {
        let rejection = #expect(throws: Rejection.self) { _ = try ReplayRequestTests.read(text) }
        #expect(
            rejection?.reason == .badField && rejection?.detail.contains(words) == true, "\(rejection?.detail ?? "")")
    }

    @Test func `An answer has the form of its request`() {
        let end = ReplayAnswer.end(next: place("3:17,5:90"), oldest: place("3:1,5:2"))
        #expect(String(decoding: end, as: UTF8.self) == #"{"next":{"3":17,"5":90},"oldest":{"3":1,"5":2}}"#)
        let damaged = ReplayAnswer.error("damaged", detail: "d", nextPlace: place("3:17"))
        #expect(String(decoding: damaged, as: UTF8.self) == #"{"error":"damaged","detail":"d","next":{"3":17}}"#)
    }
}
