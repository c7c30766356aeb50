import PushTransport

@testable import PushSimulator

extension FuzzTarget {
    /// Texts in hexadecimal, Base64 and Z85: decoding and encoding returns the same text.
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
                require(
                    PushTransport.Hex.encode(decoded) == text.lowercased(),
                    "hexadecimal changed after decoding and encoding")
            }
            if let decoded = Base64URL.decode(text) {
                require(Base64URL.encode(decoded) == text, "Base64 changed after decoding and encoding")
                let other = ByteView.lending(bytes) { Base64.decodeURL($0) }
                require(other == decoded, "the simulator decodes Base64 differently")
            }
            require(
                PushTransport.Hex.decode(PushTransport.Hex.encode(bytes)) == bytes,
                "bytes changed after encoding as hexadecimal")
            require(Base64URL.decode(Base64URL.encode(bytes)) == bytes, "bytes changed after encoding as Base64")
            require(Base64.encodeURL(bytes) == Array(Base64URL.encode(bytes).utf8), "the two Base64 encoders disagree")
            let simulated = ByteView.lending(bytes) { PushSimulator.Hex.bytes(of: $0) }
            if text.utf8.elementsEqual(bytes) {
                require(simulated == PushTransport.Hex.decode(text), "the simulator decodes hexadecimal differently")
            }
            if let key = try? CurvePublicKey(z85: text) {
                require(key.z85 == text, "a CURVE key changed after decoding and encoding")
            }
        })
}
