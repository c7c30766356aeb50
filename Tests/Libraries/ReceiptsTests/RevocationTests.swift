import PushLoop
import Receipts
import TestSupport
import Testing

@Suite struct RevocationTests {
    /// A checker, its responder, and a clock that the test advances.
    private struct Scene {
        let responder: OCSPResponder
        let time: Locked<Int64>
        let checker: RevocationChecker
        let vectors: StoreVectors

        init(_ behavior: OCSPResponder.Behavior, policy: RevocationPolicy, maxChains: Int = 32) throws {
            responder = try OCSPResponder(behavior)
            let time = Locked(StoreSigner.now())
            self.time = time
            checker = RevocationChecker(policy: policy, transport: responder, maxChains: maxChains) {
                StoreTime(milliseconds: time.withLock { $0 })
            }
            vectors = StoreVectors(signer: responder.signer)
        }

        func advance(by seconds: Int64) { time.withLock { $0 += seconds * 1000 } }

        var requests: Int { responder.requests.withLock { $0 } }

        func check() async throws -> RevocationStatus {
            let text = try vectors.signer.sign(vectors.transaction())
            return try await checker.check(vectors.verifier().transaction(text)).revocation
        }

        func code() async -> ReceiptRefusal.Code? {
            do {
                _ = try await check()
                return nil
            } catch {
                return (error as? ReceiptRefusal)?.code
            }
        }
    }

    @Test("A good chain is asked about once in 15 minutes, both of its certificates")
    func good() async throws {
        let scene = try Scene(.good, policy: .require)
        #expect(try await scene.check() == .good)
        #expect(scene.requests == 2)
        scene.advance(by: 899)
        scene.responder.behave(.unreachable)
        #expect(try await scene.check() == .good)
        #expect(scene.requests == 2)
        scene.advance(by: 2)
        #expect(await scene.code() == .revocationUnavailable)
        #expect(scene.requests == 4)
    }

    @Test(
        "A revoked leaf or intermediate is refused, whether an answer is required or not",
        arguments: [OCSPResponder.URLName.leaf, .intermediate], [RevocationPolicy.require, .soft])
    func revoked(name: OCSPResponder.URLName, policy: RevocationPolicy) async throws {
        let scene = try Scene(.revoked(name), policy: policy)
        #expect(await scene.code() == .certificateRevoked)
        // A revocation is not remembered as good.
        #expect(await scene.code() == .certificateRevoked)
        #expect(scene.requests == 4)
    }

    @Test("A failure of the network is retryable, and no fault of the data")
    func unreachable() async throws {
        for behavior in [OCSPResponder.Behavior.unreachable, .status(503)] {
            let scene = try Scene(behavior, policy: .require)
            #expect(await scene.code() == .revocationUnavailable)
            #expect(ReceiptRefusal.Code.revocationUnavailable.isRetryable)
            scene.responder.behave(.good)
            #expect(try await scene.check() == .good)
            let soft = try Scene(behavior, policy: .soft)
            guard case .unknown = try await soft.check() else { throw TestFailure() }
            // The responder is left alone for a minute.
            guard case .unknown = try await soft.check() else { throw TestFailure() }
            #expect(soft.requests == 2)
            soft.advance(by: 61)
            soft.responder.behave(.good)
            #expect(try await soft.check() == .good)
        }
    }

    @Test("An answer that is unknown, forged, malformed or out of date does not count as good")
    func unusable() async throws {
        for behavior in [OCSPResponder.Behavior.unknown, .forged, .bytes([]), .bytes([0x30, 0x80, 1, 2, 3])] {
            let scene = try Scene(behavior, policy: .require)
            #expect(await scene.code() == .revocationUnknown, "\(behavior)")
            let soft = try Scene(behavior, policy: .soft)
            guard case .unknown = try await soft.check() else { throw TestFailure() }
        }
        let late = try Scene(.good, policy: .require)
        late.advance(by: 3 * 86_400)
        #expect(await late.code() == .revocationUnknown)
        let early = try Scene(.good, policy: .require)
        early.advance(by: -1800)
        #expect(await early.code() == .revocationUnknown)
    }

    @Test("A response about another certificate does not count")
    func swapped() async throws {
        let scene = try Scene(.good, policy: .require)
        // The answer about one certificate, given for both.
        let other = try OCSPResponder(.good)
        let text = try other.signer.sign(StoreVectors(signer: other.signer).transaction())
        let verified = try StoreVectors(signer: other.signer).verifier().transaction(text)
        #expect(await refusalCode { try await scene.checker.check(verified) } == .revocationUnknown)
    }

    @Test("Certificates that have expired since, or do not name a responder, have no answer")
    func noAnswer() async throws {
        let scene = try Scene(.good, policy: .require)
        scene.advance(by: 5000 * 86_400)
        #expect(await scene.code() == .certificateExpired)
        #expect(scene.requests == 0)
        let vectors = StoreVectors()
        let verified = try vectors.verifier().transaction(vectors.signer.sign(vectors.transaction()))
        let checker = RevocationChecker(policy: .require, transport: scene.responder)
        #expect(await refusalCode { try await checker.check(verified) } == .revocationUnknown)
        let off = RevocationChecker(policy: .off, transport: scene.responder)
        #expect(try await off.check(verified).revocation == .notChecked)
    }

    @Test("The chains nested in a notification are checked as well")
    func nested() async throws {
        let scene = try Scene(.revoked(.leaf), policy: .soft)
        // Another signer below the same root, whose certificates do not name a responder, signs the notification.
        var plan = StoreSigner.Plan()
        plan.root = scene.vectors.signer.root
        let outer = StoreVectors(signer: try StoreSigner(plan))
        let inner = try scene.vectors.signer.sign(scene.vectors.transaction())
        let text = try outer.signer.sign(outer.notification(try outer.nestedData(transaction: inner)))
        let verified = try scene.vectors.verifier().notification(text)
        #expect(await refusalCode { try await scene.checker.check(verified) } == .certificateRevoked)
    }

    @Test("Many checks of one chain at the same time share one question")
    func atOnce() async throws {
        let scene = try Scene(.good, policy: .require)
        let statuses = try await withThrowingTaskGroup(of: RevocationStatus.self) { group in
            for _ in 0..<20 { group.addTask { try await scene.check() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == [RevocationStatus](repeating: .good, count: 20))
        #expect(scene.requests == 2)
    }
}

/// Returns the code with which the operation is refused; nil if it is not.
func refusalCode(_ body: () async throws -> some Any) async -> ReceiptRefusal.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? ReceiptRefusal)?.code
    }
}
