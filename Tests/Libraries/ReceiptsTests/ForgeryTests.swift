import PushTransport
import ReceiptCrypto
import Receipts
import TestSupport
import Testing

@Suite struct ForgeryTests {
    let vectors = StoreVectors()
    var signer: StoreSigner { vectors.signer }

    private func code(_ text: String) throws -> ReceiptRefusal.Code? {
        let verifier = try vectors.verifier()
        return refusal { try verifier.transaction(text) }
    }

    /// Returns genuine signed data with another header, signed with the genuine key.
    private func code(header: String) throws -> ReceiptRefusal.Code? {
        try code(signer.sign(vectors.transaction(), header: header))
    }

    // MARK: Form

    @Test("Text that is too long is refused before it is read")
    func tooLong() throws {
        #expect(try code(String(repeating: "a", count: 300_000)) == .tooLong)
        let header = "{\"alg\":\"ES256\",\"pad\":\"\(String(repeating: "x", count: 40_000))\"}"
        #expect(try code(header: header) == .tooLong)
    }

    @Test("Text that is not ASCII is refused")
    func notASCII() throws {
        let text = try signer.sign(vectors.transaction())
        #expect(try code(text + "é") == .notASCII)
        #expect(try code("\u{feff}" + text) == .notASCII)
    }

    @Test("Text with other than three segments is refused", arguments: ["", "abc", "a.b", "a.b.c.d", "....", "{}"])
    func segments(text: String) throws {
        #expect(try code(text) == .wrongSegmentCount)
    }

    @Test("An additional segment is refused")
    func manySegments() throws {
        let text = try signer.sign(vectors.transaction())
        #expect(try code(text + ".") == .wrongSegmentCount)
        #expect(try code(text + ".e30") == .wrongSegmentCount)
    }

    @Test("Padding and other characters than Base64URL are refused in each segment", arguments: 0..<3)
    func base64(segment: Int) throws {
        let parts = try signer.sign(vectors.transaction()).split(separator: ".").map(String.init)
        func with(_ change: (String) -> String) -> String {
            var parts = parts
            parts[segment] = change(parts[segment])
            return parts.joined(separator: ".")
        }
        #expect(try code(with { $0 + "=" }) == .paddedBase64)
        #expect(try code(with { $0 + "==" }) == .paddedBase64)
        for strange in ["+", "/", " ", "\n", "\0", "%", "\""] {
            #expect(try code(with { strange + $0.dropFirst() }) == .malformedBase64)
        }
        #expect(
            try code(with { "AAAAA" + ($0.count % 4 == 0 ? $0 : String($0.dropLast($0.count % 4))) })
                == .malformedBase64)
    }

    @Test("Bits after the last byte of a signature are refused, so that one signature has one text")
    func looseBits() throws {
        let text = try signer.sign(vectors.transaction())
        let last = try #require(text.last)
        for digit in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" where digit != last {
            let found = try code(text.dropLast() + String(digit))
            #expect(found == .malformedBase64 || found == .wrongSignature)
        }
    }

    @Test("A header that is not one JSON object is refused")
    func header() throws {
        for header in ["", "x", "[]", "null", "\"ES256\"", "{", "{}{}", "{\"alg\":\"ES256\",}", "{'alg':'ES256'}"] {
            #expect(try code(header: header) == .malformedHeader, "\(header)")
        }
        let deep = "{\"alg\":" + String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000) + "}"
        #expect(try code(header: deep) == .malformedHeader)
    }

    @Test("Another algorithm is refused", arguments: ["none", "None", "HS256", "RS256", "ES384", "es256", "EdDSA", ""])
    func algorithm(name: String) throws {
        #expect(try code(header: signer.header(algorithm: name)) == .unsupportedAlgorithm)
    }

    @Test("An unsigned text with the algorithm none is refused")
    func none() throws {
        let header = Base64URL.encode(signer.header(algorithm: "none"))
        #expect(try code("\(header).\(Base64URL.encode(vectors.transaction())).") == .unsupportedAlgorithm)
        #expect(try code(header: "{\"x5c\":[]}") == .unsupportedAlgorithm)
        #expect(try code(header: "{\"alg\":null}") == .unsupportedAlgorithm)
    }

    @Test("Header parameters that change the meaning are refused", arguments: ["crit", "b64", "zip"])
    func parameters(name: String) throws {
        #expect(try code(header: "{\"\(name)\":[\"b64\"]," + signer.header().dropFirst()) == .unsupportedHeader)
    }

    // MARK: Duplicate keys

    @Test("A key that occurs twice is refused, in the header, the payload, and in nested objects")
    func duplicates() throws {
        #expect(try code(header: "{\"alg\":\"none\"," + signer.header().dropFirst()) == .duplicateKey)
        #expect(try code(header: "{\"a\\u006cg\":\"none\"," + signer.header().dropFirst()) == .duplicateKey)
        let payload = vectors.transaction(more: ",\"bundleId\":\"com.example.other\"")
        #expect(try code(signer.sign(payload)) == .duplicateKey)
        #expect(try code(signer.sign(vectors.transaction(more: ",\"a\":[{\"b\":1,\"b\":1}]"))) == .duplicateKey)
    }

    // MARK: Signature

    @Test("A signature in DER, or of another length, is refused")
    func lengthOfSignature() throws {
        let parts = try signer.sign(vectors.transaction()).split(separator: ".").map(String.init)
        let raw = try #require(Base64URL.decode(parts[2]))
        func part(_ number: ArraySlice<UInt8>) -> [UInt8] {
            let digits = number.drop { $0 == 0 }
            return [2, UInt8(digits.count + 1), 0] + digits
        }
        let body = part(raw[..<32]) + part(raw[32...])
        let der = [0x30, UInt8(body.count)] + body
        for signature in [der, [], [0], Array(raw.dropLast()), raw + [0]] {
            #expect(try code("\(parts[0]).\(parts[1]).\(Base64URL.encode(signature))") == .malformedSignature)
        }
    }

    @Test("A signature of zeros, or out of range, is refused", arguments: [0, 0xff] as [UInt8])
    func numbers(byte: UInt8) throws {
        let parts = try signer.sign(vectors.transaction()).split(separator: ".")
        let signature = Base64URL.encode([UInt8](repeating: byte, count: 64))
        #expect(try code("\(parts[0]).\(parts[1]).\(signature)") == .wrongSignature)
    }

    @Test("An altered payload, or a payload with another signature, is refused")
    func altered() throws {
        let genuine = try signer.sign(vectors.transaction()).split(separator: ".")
        let other = try signer.sign(vectors.transaction(more: ",\"a\":1")).split(separator: ".")
        #expect(try code("\(genuine[0]).\(other[1]).\(genuine[2])") == .wrongSignature)
        #expect(try code("\(genuine[0]).\(genuine[1]).\(other[2])") == .wrongSignature)
        let header = Base64URL.encode(" " + signer.header())
        #expect(try code("\(header).\(genuine[1]).\(genuine[2])") == .wrongSignature)
    }

    @Test("A payload is not parsed unless its signature holds")
    func order() throws {
        let parts = try signer.sign("{\"a\":1,\"a\":1}").split(separator: ".")
        let other = try signer.sign("x").split(separator: ".")
        #expect(try code("\(parts[0]).\(parts[1]).\(other[2])") == .wrongSignature)
        #expect(try code(parts.joined(separator: ".")) == .duplicateKey)
    }

    // MARK: Content

    @Test("A payload that is not one JSON object is refused")
    func payload() throws {
        for payload in ["", "x", "[]", "1", "{\"a\":01}", "{\"a\":1e999}", "{\"a\":\"\u{1}\"}", "{\"a\":\"\\ud800\"}"] {
            #expect(try code(signer.sign(payload)) == .malformedPayload, "\(payload)")
        }
    }

    @Test("A claim of the wrong type is refused")
    func types() throws {
        for claim in ["expiresInDays", "offerType"] {
            let expected: ReceiptRefusal.Code? = claim == "offerType" ? .malformedPayload : nil
            #expect(try code(signer.sign(vectors.transaction(more: ",\"\(claim)\":\"1\""))) == expected)
        }
        #expect(try code(signer.sign(vectors.transaction(more: ",\"revocationDate\":1e40"))) == .malformedPayload)
        #expect(try code(signer.sign(vectors.transaction(more: ",\"revocationDate\":\"1\""))) == .malformedPayload)
        let text = vectors.transaction().replacing("\"com.example.shop\"", with: "7")
        #expect(try code(signer.sign(text)) == .malformedPayload)
    }

    @Test("A missing claim is refused", arguments: ["bundleId", "environment", "signedDate"])
    func missing(claim: String) throws {
        let text = vectors.transaction().replacing("\"\(claim)\"", with: "\"other\"")
        #expect(try code(signer.sign(text)) == .missingClaim)
    }

    @Test("Data of another app, environment or kind is refused")
    func claims() throws {
        #expect(try code(signer.sign(vectors.transaction(bundleID: "com.example.shop2"))) == .wrongBundleID)
        #expect(try code(signer.sign(vectors.transaction(bundleID: "com.example.Shop"))) == .wrongBundleID)
        #expect(try code(signer.sign(vectors.transaction(environment: "production"))) == .wrongEnvironment)
        #expect(try code(signer.sign(vectors.transaction(environment: "Xcode"))) == .localEnvironment)
        #expect(try code(signer.sign(vectors.transaction(environment: "LocalTesting"))) == .localEnvironment)
        #expect(try code(signer.sign(vectors.renewalInfo())) == .wrongKind)
        #expect(try code(signer.sign(vectors.appTransaction())) == .wrongKind)
        #expect(try code(signer.sign(vectors.notification(vectors.data()))) == .wrongKind)
        let verifier = try vectors.verifier(environments: [.production])
        let sandbox = try signer.sign(vectors.transaction(environment: "Sandbox"))
        #expect(refusal { try verifier.transaction(sandbox) } == .wrongEnvironment)
        let transaction = try signer.sign(vectors.transaction())
        #expect(refusal { try verifier.notification(transaction) } == .wrongKind)
        #expect(refusal { try verifier.verify(signer.sign("{\"signedDate\":\(vectors.now)}")) } == .wrongKind)
    }

    @Test("Local environments are refused even if they are configured")
    func local() throws {
        let verifier = try vectors.verifier(environments: [.xcode, .localTesting])
        for name in ["Xcode", "LocalTesting"] {
            let text = try signer.sign(vectors.transaction(environment: name))
            #expect(refusal { try verifier.transaction(text) } == .localEnvironment)
        }
    }

    @Test("A transaction names the bundle id that is compared byte by byte")
    func exactBundleID() throws {
        // Swift takes the Kelvin sign as equal to the letter K.
        let verifier = try vectors.verifier(apps: [StoreApp(bundleID: "com.example.K")])
        let text = try signer.sign(vectors.transaction(bundleID: "com.example.\u{212a}"))
        #expect(refusal { try verifier.transaction(text) } == .wrongBundleID)
    }

    // MARK: Notifications

    @Test("A notification of another app, Apple id or environment is refused")
    func notification() throws {
        func code(_ content: String, apps: [StoreApp] = [StoreVectors.app]) throws -> ReceiptRefusal.Code? {
            let text = try signer.sign(vectors.notification(content))
            let verifier = try vectors.verifier(apps: apps)
            return refusal { try verifier.notification(text) }
        }
        #expect(try code(vectors.data()) == nil)
        #expect(try code(vectors.data(bundleID: "com.example.other")) == .wrongBundleID)
        #expect(try code(vectors.data(appAppleID: 5)) == .wrongAppID)
        #expect(try code(vectors.data(environment: "Xcode")) == .localEnvironment)
        #expect(try code(vectors.data(environment: "Else")) == .wrongEnvironment)
        #expect(try code(vectors.data(), apps: [StoreApp(bundleID: "com.example.shop")]) == .unknownAppID)
        #expect(try code("\"other\":{}") == .missingClaim)
        #expect(try code("\"data\":null") == .missingClaim)
        #expect(try code("\"data\":7") == .malformedPayload)
        #expect(try code(vectors.data() + ",\"summary\":{}") == .malformedPayload)
        let payload = vectors.appTransaction(appAppleID: 5)
        let verifier = try vectors.verifier()
        #expect(refusal { try verifier.appTransaction(signer.sign(payload)) } == .wrongAppID)
    }

    @Test("A notification is refused if a part of it is forged, of another kind, or of another app or environment")
    func nested() throws {
        let verifier = try vectors.verifier(apps: [StoreVectors.app, StoreApp(bundleID: "com.example.news")])
        func code(transaction: String? = nil, renewalInfo: String? = nil) throws -> ReceiptRefusal.Code? {
            let content = try vectors.nestedData(transaction: transaction, renewalInfo: renewalInfo)
            let text = try signer.sign(vectors.notification(content))
            return refusal { try verifier.notification(text) }
        }
        #expect(try code() == nil)
        let stranger = try StoreSigner(StoreSigner.Plan())
        #expect(try code(transaction: stranger.sign(vectors.transaction())) == .untrustedChain)
        #expect(try code(transaction: "x") == .wrongSegmentCount)
        #expect(try code(transaction: signer.sign(vectors.renewalInfo())) == .wrongKind)
        #expect(try code(renewalInfo: signer.sign(vectors.transaction())) == .wrongKind)
        let news = vectors.transaction(bundleID: "com.example.news")
        #expect(try code(transaction: signer.sign(news)) == .mismatchedContent)
        let sandbox = vectors.transaction(environment: "Sandbox")
        #expect(try code(transaction: signer.sign(sandbox)) == .mismatchedContent)
        let renewal = vectors.renewalInfo(environment: "Sandbox")
        #expect(try code(renewalInfo: signer.sign(renewal)) == .mismatchedContent)
    }
}
