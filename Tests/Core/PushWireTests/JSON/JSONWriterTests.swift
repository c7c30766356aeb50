import Testing

@testable import PushWire

@Suite struct JSONWriterTests {
    private func text(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(capacity: 16)
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// The writer looks at eight bytes at a time, so every byte has to be found at every place.
    @Test(arguments: 0..<20)
    func `Each character is read back, at each place of a string`(_ place: Int) throws {
        for scalar in (0..<0x180).compactMap({ Unicode.Scalar(UInt32($0)) }) {
            let string = String(repeating: "x", count: place) + String(scalar) + "yyyyyyyy"
            let written = text { $0.string(string) }
            let json = try JSONDocument(Array(written.utf8))
            #expect(json.string(json.root) == string)
        }
    }

    @Test func `Commas are between members and elements only, and the text outgrows its memory`() {
        let long = String(repeating: "long ", count: 2_000)
        let written = text { json in
            json.object { json in
                json.member("a", value: Int64.min)
                json.member("none", value: String?.none)
                json.key(plain: "b")
                json.array { json in
                    json.number(.infinity)
                    json.number(0.5)
                    json.bool(true)
                    json.object { _ in }
                    json.strings([])
                    json.raw(Array("[1]".utf8))
                    json.integer(.max)
                }
                json.key("c\"")
                json.string(long)
            }
        }
        #expect(
            written
                == #"{"a":-9223372036854775808,"b":[null,0.5,true,{},[],[1],9223372036854775807],"c\"":""# + long
                + #""}"#
        )
    }
}
