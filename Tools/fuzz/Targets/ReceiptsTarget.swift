import PushTransport
import PushWire
import ReceiptCrypto
import TestSupport

@testable import Receipts

extension FuzzTarget {
    /// Signed data of the App Store with its chain, responses of OCSP responders and of `verifyReceipt`, and old
    /// receipts: nothing forged is accepted, and nothing that is signed makes the readers of the payload trap.
    static let receipts = FuzzTarget(
        name: "receipts",
        seeds: {
            let ground = ReceiptsGround.shared
            let chain = ground.signer.chain
            let response =
                #"{"status":0,"environment":"Production","receipt":{"bundle_id":"a.b","in_app":[{"transaction_id":"1"}]}}"#
            return ground.genuine.map { [0] + Array($0.utf8) } + ground.payloads.map { [1] + Array($0.utf8) } + [
                [2] + Array(ground.signer.header().utf8), [3, 0] + chain[0], [3, 1] + chain[1],
                [4, 0, 0x30, 3, 0x0a, 1, 3],
                [4, 1] + ground.chain.leafRequest, [5] + Array(response.utf8), [5] + Array(#"{"status":21007}"#.utf8),
                [5] + Array(#"{"status":21100,"is-retryable":true}"#.utf8),
                [6] + Array(#"{"signedPayload":"a.b.c"}"#.utf8),
                [7] + oldReceipt,
            ]
        },
        run: { input in
            let ground = ReceiptsGround.shared
            switch input.byte() % 8 {
            case 0: ground.verify(String(decoding: input.rest(), as: UTF8.self))
            case 1: ground.verifySigned(input.rest())
            case 2: ground.verify(header: input.rest())
            case 3: ground.build(isLeaf: input.flag() == false, input.rest())
            case 4: ground.readOCSP(about: input.flag() ? .leaf : .intermediate, input.rest())
            case 5: ground.readResponse(input.rest())
            case 6: _ = try? ServerNotification.signedPayload(in: input.rest())
            default:
                let bytes = input.rest()
                if let receipt = try? OldReceipt(der: bytes) {
                    require(
                        (try? OldReceipt(base64: StoreSigner.base64(bytes))) == receipt, "two meanings of a receipt")
                }
            }
        })
}

/// An old receipt in BER with one purchase, whose original transaction is 9.
private let oldReceipt: [UInt8] = {
    let field: [UInt8] = [0x30, 0x0c, 2, 2, 0x06, 0xa9, 2, 1, 1, 4, 3, 0x0c, 1, 0x39]
    let purchase: [UInt8] = [0x30, 0x18, 2, 1, 17, 2, 1, 1, 4, 0x10, 0x31, 0x0e] + field
    let payload: [UInt8] = [0x31, UInt8(purchase.count)] + purchase
    let oid: [UInt8] = [0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07]
    let content: [UInt8] = [0x30, 0x80] + oid + [1, 0xa0, 0x80, 0x24, 0x80, 4, UInt8(payload.count)] + payload
    return [0x30, 0x80] + oid + [2, 0xa0, 0x80, 0x30, 0x80, 2, 1, 1, 0x31, 0] + content
        + [UInt8](repeating: 0, count: 12) + [0, 0]
}()

/// A signer, its genuine texts, and a verifier that trusts it. Created once.
private struct ReceiptsGround: Sendable {
    static let shared: ReceiptsGround = {
        do {
            return try ReceiptsGround()
        } catch {
            fatalError("the certificates of the target cannot be made: \(error)")
        }
    }()

    let signer = StoreSigner.shared
    let payloads: [String]
    let genuine: [String]
    let chain: SigningChain
    private let store: TrustStore
    private let verifier: SignedDataVerifier

    private init() throws {
        let time = "\"signedDate\":\(StoreSigner.now())"
        let transaction =
            #"{"transactionId":"1","originalTransactionId":"1","bundleId":"a.b","environment":"Sandbox",\#(time)}"#
        payloads = [
            transaction, #"{"originalTransactionId":"1","autoRenewStatus":1,"environment":"Sandbox",\#(time)}"#,
            #"{"receiptType":"Sandbox","bundleId":"a.b","receiptCreationDate":\#(StoreSigner.now())}"#,
            #"{"notificationType":"TEST","notificationUUID":"u","data":{"bundleId":"a.b","environment":"Sandbox"},\#(time)}"#,
            #"{"a":[1.5e3,-0,true,null,"\ud83d\ude00\n"],"a\u0062":{}}"#,
        ]
        genuine = try payloads.map { try StoreSigner.shared.sign($0) }
        let chain = StoreSigner.shared.chain
        store = try TrustStore(roots: [chain[2]])
        self.chain = try store.chain(leaf: chain[0], intermediate: chain[1])
        verifier = SignedDataVerifier(
            apps: [StoreApp(bundleID: "a.b", appAppleID: 1)], roots: try TrustedRoots(der: [chain[2]]))
    }

    func verify(_ text: String) {
        let signer = verifier.signer(claimedBy: text)
        guard (try? verifier.verify(text)) != nil else { return }
        require(genuine.contains(text), "a forged text is accepted")
        require(signer != .none && verifier.signer(claimedBy: text) == .known, "the signer is not known")
    }

    func verifySigned(_ payload: [UInt8]) {
        let text = String(decoding: payload, as: UTF8.self)
        guard let signed = try? signer.sign(text) else { return }
        if let data = try? verifier.verify(signed) {
            require(data.signed.rawJSON == text, "the payload is not reproduced")
            require(data.signed.original == signed, "the text is not reproduced")
        }
        // An independent reader accepts the same JSON.
        if let json = try? StrictJSONReader.read(Array(text.utf8)), json.members != nil {
            require(JSONDocument.isObject(Array(text.utf8)), "the readers of JSON disagree")
        }
    }

    func verify(header: [UInt8]) {
        let text = String(decoding: header, as: UTF8.self)
        guard let signed = try? signer.sign(payloads[0], header: text) else { return }
        if (try? verifier.verify(signed)) != nil {
            require(text.contains(StoreSigner.base64(signer.chain[0])), "another leaf is accepted")
            require(text.contains(StoreSigner.base64(signer.chain[1])), "another intermediate is accepted")
        }
    }

    func build(isLeaf: Bool, _ der: [UInt8]) {
        let (leaf, intermediate) = isLeaf ? (der, signer.chain[1]) : (signer.chain[0], der)
        guard let found = try? store.chain(leaf: leaf, intermediate: intermediate) else { return }
        // Other bytes may encode the same certificate. It must have the genuine key and validity.
        require(found.validFrom == chain.validFrom && found.validUntil == chain.validUntil, "another validity")
        guard let jws = try? CompactJWS(genuine[0]) else { fatalError("the genuine text is not signed data") }
        require(found.verifies(jws.signature, of: jws.signedText), "another key is trusted")
        _ = found.subject
        _ = found.responder(of: .leaf)
        _ = found.ocspRequest(for: .leaf)
    }

    func readOCSP(about member: SigningChain.Member, _ response: [UInt8]) {
        let answer = chain.ocspAnswer(response, about: member, now: StoreSigner.now() / 1000)
        require(answer != .good && answer != .revoked && answer != .unknown, "a forged response is accepted")
    }

    func readResponse(_ body: [UInt8]) {
        var machine = VerifyReceiptMachine(VerifyReceiptPolicy(apps: [StoreApp(bundleID: "a.b")]))
        var requests = 0
        var action = machine.start()
        while case .send = action {
            requests += 1
            require(requests <= 5, "the receipt is sent \(requests) times")
            action = machine.received(ReceiptResponse(status: 200, body: body))
        }
        if case .accept(let receipt) = action {
            require(
                receipt.bundleID == "a.b" && receipt.rawJSON.utf8.elementsEqual(body), "another receipt is accepted")
        }
    }
}

extension SigningChain {
    /// A request about the leaf, which is DER, but not a response.
    fileprivate var leafRequest: [UInt8] { ocspRequest(for: .leaf) ?? [] }
}
