import Receipts
import TestSupport
import Testing

@Suite struct ClaimedSignerTests {
    let vectors = StoreVectors()

    @Test("Certificates are known after they have signed something that holds")
    func known() throws {
        let verifier = try vectors.verifier()
        let text = try vectors.signer.sign(vectors.transaction())
        #expect(verifier.signer(claimedBy: text) == .unknown)
        let parts = text.split(separator: ".").map { String($0) }
        let copied = "\(parts[0]).e30.\(parts[2])"
        #expect(refusal { try verifier.verify(copied) } == .wrongSignature)
        #expect(verifier.signer(claimedBy: text) == .unknown)
        // Data that is genuine, but not for these apps, makes them known, too.
        let foreign = try vectors.signer.sign(vectors.transaction(bundleID: "com.example.other"))
        #expect(refusal { try verifier.verify(foreign) } == .wrongBundleID)
        for one in [text, copied, foreign, "\(parts[0]).", "\(parts[0])", "\(parts[0]).a.b.c.\u{e4}"] {
            #expect(verifier.signer(claimedBy: one) == .known)
        }
    }

    @Test("A text without three certificates claims nobody, however long it is")
    func none() throws {
        let verifier = try vectors.verifier()
        let long = String(repeating: "A", count: 1 << 20)
        let head = "eyJhbGciOiJFUzI1NiIsIng1YyI6W119"
        for text in ["", ".", "a.b.c", "x", "\u{e4}.b.c", long, "\(long).a.b", "\(head).a.b", "\(head)=.a.b"] {
            #expect(verifier.signer(claimedBy: text) == .none)
        }
    }

    @Test("Another verifier takes the chains that end at its roots")
    func taken() throws {
        let text = try vectors.signer.sign(vectors.transaction())
        let verifier = try vectors.verifier()
        _ = try verifier.verify(text)
        let next = try vectors.verifier(apps: [])
        next.takeChains(of: verifier)
        #expect(next.signer(claimedBy: text) == .known && next.chainCount == 1)
        let small = try vectors.verifier(cachedChains: 1)
        small.takeChains(of: next)
        #expect(small.chainCount == 1)
        let other = SignedDataVerifier(apps: [StoreVectors.app])
        other.takeChains(of: verifier)
        #expect(other.signer(claimedBy: text) == .unknown && other.chainCount == 0)
    }
}
