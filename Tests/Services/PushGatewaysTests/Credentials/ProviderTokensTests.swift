import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import APNs
@testable import PushGateways

@Suite(.waits) struct ProviderTokensTests {
    private typealias Told = Result<ProviderToken, CredentialError>

    /// Two loops: the loop of the tokens, whose clock the test controls, and the loop of a gateway.
    private struct Bench {
        let loop = EventLoop(name: "tokens", clock: .manual())
        let gateway = EventLoop(name: "gateway")
        let step = Locked(Int64(0))
        let tokens: ProviderTokens
        let key: APNs.ProviderKey

        init() throws {
            let (loop, step) = (loop, step)
            let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
            let now = Locked(start)
            clock = now
            tokens = ProviderTokens(on: loop) {
                let passed = loop.isOnLoop ? loop.now - start : now.withLock { $0 } - start
                return WallTime(
                    milliseconds: 1_767_225_600_000 + passed.wholeNanoseconds / 1_000_000 + step.withLock { $0 })
            }
            key = try ProviderKey(teamID: "DEF123GHIJ", keyID: "ABC123DEFG", key: .generate())
        }

        private let clock: Locked<MonotonicTime>

        func subscribe(_ key: APNs.ProviderKey? = nil) -> (ProviderTokens.Subscription, EventRecorder<Told>) {
            let recorder = EventRecorder<Told>()
            let gateway = gateway
            let subscription = tokens.subscribe(key ?? self.key, on: gateway) {
                gateway.assertOnLoop()
                recorder.record($0)
            }
            return (subscription, recorder)
        }

        /// Advances the clock, and waits until notifications have arrived.
        func advance(minutes: Double) async {
            await loop.advance(by: .seconds(minutes * 60))
            await settle()
        }

        func settle() async {
            await loop.run {}
            await gateway.run {}
        }

        func end() async {
            await loop.shutDown()
            await gateway.shutDown()
        }
    }

    private func generations(_ recorder: EventRecorder<Told>) -> [UInt64] {
        recorder.events.compactMap { try? $0.get().generation }
    }

    private func parts(_ token: ProviderToken) -> [String] {
        token.text.withRevealed { $0.split(separator: ".").map(String.init) }
    }

    @Test func `The first subscriber has a token minted, which the key verifies`() async throws {
        let bench = try Bench()
        let (_, received) = bench.subscribe()
        let token = try await received.wait(count: 1)[0].get()
        #expect(token.generation == 1)
        let parts = parts(token)
        #expect(parts.count == 3)
        let text = { (part: String) in String(decoding: Base64URL.decode(part) ?? [], as: UTF8.self) }
        #expect(text(parts[0]) == "{\"alg\":\"ES256\",\"kid\":\"ABC123DEFG\"}")
        #expect(text(parts[1]) == "{\"iss\":\"DEF123GHIJ\",\"iat\":1767225600}")
        let signature = try #require(Base64URL.decode(parts[2]))
        #expect(bench.key.key.publicKey.verify(Array("\(parts[0]).\(parts[1])".utf8), signature: signature))
        await bench.end()
    }

    @Test func `Another program verifies a token`() async throws {
        let bench = try Bench()
        let (_, received) = bench.subscribe()
        let parts = parts(try await received.wait(count: 1)[0].get())
        await bench.end()
        let signature = try #require(Base64URL.decode(parts[2]))
        // openssl expects R and S as DER.
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            let short = Array(bytes.drop { $0 == 0 })
            return DER.element(2, (short.first ?? 0) >= 0x80 ? [0] + short : short)
        }
        let der = DER.element(0x30, integer(signature[..<32]) + integer(signature[32...]))
        let directory = try TemporaryDirectory()
        let input = try directory.write("input", containing: "\(parts[0]).\(parts[1])")
        let publicKey = try directory.write("public.pem", containing: bench.key.key.publicKey.pem)
        let hex = try directory.write("signature.hex", containing: Hex.encode(der))
        let binary = "\(directory.path)/signature"
        _ = try await ChildProcess.run("sh", ["-c", "perl -pe '$_=pack(\"H*\",$_)' \(hex) > \(binary)"])
        let ended = try await ChildProcess.run(
            "openssl", ["dgst", "-sha256", "-verify", publicKey, "-signature", binary, input])
        #expect(ended.output == "Verified OK\n", "\(ended.errors)")
    }

    @Test func `All subscribers of a key receive the same token, and each later one`() async throws {
        let bench = try Bench()
        let (_, first) = bench.subscribe()
        let (_, second) = bench.subscribe()
        await bench.advance(minutes: 10)
        // The same key, loaded again as by a reload of the configuration.
        let (_, third) = bench.subscribe(
            try ProviderKey(
                teamID: "DEF123GHIJ", keyID: "ABC123DEFG", key: ES256PrivateKey(pem: .text(bench.key.key.pem))))
        await bench.advance(minutes: 95)
        #expect(generations(first) == [1, 2, 3])
        #expect(generations(second) == [1, 2, 3])
        #expect(generations(third) == [1, 2, 3])
        let minted = first.events.compactMap { try? $0.get().mintedAt }
        #expect(zip(minted.dropFirst(), minted).allSatisfy { $0 - $1 == .seconds(3000) })
        let texts = Set(first.events.compactMap { try? parts($0.get()).joined() })
        #expect(texts.count == 3)
        await bench.end()
    }

    @Test func `Different keys have tokens of their own`() async throws {
        let bench = try Bench()
        let other = try ProviderKey(teamID: "DEF123GHIJ", keyID: "ABC123DEFG", key: .generate())
        let (_, first) = bench.subscribe()
        let (_, second) = bench.subscribe(other)
        await bench.settle()
        #expect(generations(first) == [1])
        #expect(generations(second) == [2])
        await bench.end()
    }

    @Test func `A rejected token is renewed once for all subscribers, and not within 20 minutes`() async throws {
        let bench = try Bench()
        let (_, first) = bench.subscribe()
        let (_, second) = bench.subscribe()
        await bench.advance(minutes: 5)
        for _ in 0..<10 { bench.tokens.refused(bench.key, generation: 1) }
        await bench.settle()
        #expect(generations(first) == [1])
        await bench.advance(minutes: 14.9)
        #expect(generations(first) == [1])
        await bench.advance(minutes: 0.2)
        #expect(generations(first) == [1, 2])
        #expect(generations(second) == [1, 2])
        // Late answers to requests with the first token.
        await bench.advance(minutes: 25)
        for _ in 0..<10 { bench.tokens.refused(bench.key, generation: 1) }
        await bench.settle()
        #expect(generations(first) == [1, 2])
        // A token that is old enough is renewed at once.
        bench.tokens.refused(bench.key, generation: 2)
        await bench.settle()
        #expect(generations(second) == [1, 2, 3])
        await bench.end()
    }

    @Test func `After TooManyProviderTokenUpdates the token stays 20 minutes longer`() async throws {
        let bench = try Bench()
        let (_, received) = bench.subscribe()
        await bench.advance(minutes: 35)
        bench.tokens.mintedTooOften(bench.key)
        bench.tokens.refused(bench.key, generation: 1)
        await bench.advance(minutes: 19.9)
        #expect(generations(received) == [1])
        await bench.advance(minutes: 0.2)
        #expect(generations(received) == [1, 2])
        await bench.end()
    }

    @Test func `A wall clock that is set back is detected without an event`() async throws {
        let bench = try Bench()
        let (_, received) = bench.subscribe()
        await bench.advance(minutes: 30)
        bench.step.withLock { $0 = -3_600_000 }
        await bench.advance(minutes: 1)
        #expect(generations(received) == [1, 2])
        let claims = String(decoding: Base64URL.decode(parts(try received.events[1].get())[1]) ?? [], as: UTF8.self)
        #expect(claims == "{\"iss\":\"DEF123GHIJ\",\"iat\":\(1_767_225_600 + 31 * 60 - 3600)}")
        await bench.end()
    }

    @Test func `A key without subscribers keeps its token for a reload, and mints none`() async throws {
        let bench = try Bench()
        let (subscription, first) = bench.subscribe()
        await bench.advance(minutes: 10)
        bench.tokens.cancel(subscription)
        await bench.advance(minutes: 15)
        let (again, second) = bench.subscribe()
        await bench.settle()
        #expect(generations(second) == [1])
        bench.tokens.cancel(again)
        await bench.advance(minutes: 600)
        #expect(generations(first) == [1])
        let (_, third) = bench.subscribe()
        await bench.settle()
        // The generation is 2, so no token was minted in ten hours.
        #expect(generations(third) == [2])
        await bench.end()
    }

    @Test func `A cancelled subscription receives no more tokens`() async throws {
        let bench = try Bench()
        let (_, stays) = bench.subscribe()
        let (goes, received) = bench.subscribe()
        await bench.settle()
        let tokens = bench.tokens
        await bench.gateway.run { tokens.cancel(goes) }
        await bench.advance(minutes: 51)
        #expect(generations(stays) == [1, 2])
        #expect(generations(received) == [1])
        // The gateway's loop is busy until the subscription is cancelled, so no token was delivered before.
        let recorder = EventRecorder<Told>()
        let (loop, gateway, key) = (bench.loop, bench.gateway, bench.key)
        await gateway.run {
            tokens.cancel(tokens.subscribe(key, on: gateway) { recorder.record($0) })
        }
        await loop.run {}
        await gateway.run {}
        #expect(recorder.events.isEmpty)
        // A second cancellation has no effect.
        tokens.cancel(goes)
        await bench.end()
    }

    @Test func `A gateway whose loop has stopped is not waited for`() async throws {
        let bench = try Bench()
        let gone = EventLoop(name: "gone")
        let recorder = EventRecorder<Told>()
        _ = bench.tokens.subscribe(bench.key, on: gone) { recorder.record($0) }
        await recorder.wait(count: 1)
        await gone.shutDown()
        let (_, received) = bench.subscribe()
        await bench.advance(minutes: 51)
        #expect(generations(received) == [1, 2])
        #expect(recorder.events.count == 1)
        await bench.end()
    }

    @Test func `No description contains a token or a key`() async throws {
        let bench = try Bench()
        let (subscription, received) = bench.subscribe()
        let token = try await received.wait(count: 1)[0].get()
        var all = "\(token) \(subscription) \(bench.key) \(bench.tokens)"
        dump(token, to: &all)
        dump(bench.key, to: &all)
        dump(subscription, to: &all)
        for part in parts(token) { #expect(!all.contains(part)) }
        await bench.end()
    }
}
