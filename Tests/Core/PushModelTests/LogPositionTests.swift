import PushModel
import Testing

@Suite struct LogPositionTests {
    @Test(
        arguments: [
            ("0", []), ("17", [17]), ("9223372036854775807", [9_223_372_036_854_775_807]), ("0:17", [17]),
            ("1:5", [0, 5]), ("3:17,1:5,0:0", [0, 5, 0, 17]), ("2:281474976710655", [0, 0, 281_474_976_710_655]),
        ] as [(String, [UInt64])])
    func `A place is read from its text`(_ text: String, _ numbers: [UInt64]) throws {
        let place = try #require(LogPosition(text))
        for part in 0..<256 { #expect(place[part] == (part < numbers.count ? numbers[part] : 0)) }
        #expect(LogPosition(place.description) == place)
        #expect(place.isNumber == (numbers.count <= 1))
    }

    @Test(arguments: [
        "", " 1", "-1", "+1", "x", "9223372036854775808", "99999999999999999999", "1:", ":1", "1:2:3", "1:2,", ",",
        "1,2",
        "256:1", "1:1,1:2", "1:281474976710656", "0x1:1", (0...256).map { "\($0 % 256):1" }.joined(separator: ","),
    ])
    func `What is not a place is refused`(_ text: String) {
        #expect(LogPosition(text) == nil)
    }

    @Test func `A place has the largest number of each part`() {
        var place = LogPosition(after: EventNumber.base(of: 3) + 17)
        #expect(place.description == "3:17")
        place.raise(to: EventNumber.base(of: 3) + 9)
        place.raise(to: 5)
        #expect(place.description == "0:5,3:17")
        var other = place
        #expect(!other.isAhead(of: place))
        other[255] = 1
        #expect(other.isAhead(of: place) && !place.isAhead(of: other))
        place.raise(to: other)
        #expect(place == other && place.parts.map(\.part) == [0, 3, 255])
        place[255] = 0
        place[3] = 0
        #expect(place == LogPosition(after: 5) && place.isNumber)
        // No part has this number.
        place[256] = 1
        place[-1] = 1
        #expect(place == LogPosition(after: 5))
    }
}
