import PushTransport

@testable import PushSimulator

extension FuzzTarget {
    /// Hexadecimal, Base64 and Z85 texts: what is accepted is written back the same.
    static let encoding = FuzzTarget(
        name: "encoding",
        seeds: {
            ["", "0aF9", "AAECAwQF", "eyJhbGciOiJFUzI1NiJ9", "-_-_", "AA==", "zz\u{e9}"].map { Array($0.utf8) }
                + [Array("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7".utf8), [0xff, 0x00, 0x80]]
        },
        run: { input in
            let bytes = input.rest()
            let text = String(decoding: bytes, as: UTF8.self)
            if let decoded = PushTransport.Hex.decode(text) {
                require(PushTransport.Hex.encode(decoded) == text.lowercased(), "hexadecimal does not come back")
            }
            if let decoded = Base64URL.decode(text) {
                require(Base64URL.encode(decoded) == text, "Base64 does not come back")
                let other = ByteView.lending(bytes) { Base64.decodeURL($0) }
                require(other == decoded, "the simulator reads Base64 in another way")
            }
            require(PushTransport.Hex.decode(PushTransport.Hex.encode(bytes)) == bytes, "hexadecimal loses bytes")
            require(Base64URL.decode(Base64URL.encode(bytes)) == bytes, "Base64 loses bytes")
            require(Base64.encodeURL(bytes) == Array(Base64URL.encode(bytes).utf8), "two encoders do not agree")
            let simulated = ByteView.lending(bytes) { PushSimulator.Hex.bytes(of: $0) }
            if text.utf8.elementsEqual(bytes) {
                require(simulated == PushTransport.Hex.decode(text), "the simulator reads hexadecimal in another way")
            }
            if let key = try? CurvePublicKey(z85: text) {
                require(key.z85 == text, "a CURVE key does not come back")
            }
        })
}
