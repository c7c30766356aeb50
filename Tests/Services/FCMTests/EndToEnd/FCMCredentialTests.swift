import FCM
import PushGateways
import PushLoop
import PushModel
import PushPipeline
import PushSimulator
import TestSupport
import TestTraits
import Testing

/// Access tokens and service accounts, against the simulated token endpoint.
@Suite(.waits) struct FCMCredentialTests {
    private static func envelope(_ id: String, to address: String) -> String {
        #"{"id":"\#(id)","app":"shop","to":{"tokens":["\#(address)"]},"alert":"Hello"}"#
    }

    @Test func `After 401 one token is asked for, and the message is sent once`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            #expect(await scene.push(Self.envelope("one", to: "a")).outcome == .accepted)
            await scene.waitUntilDone()
            await scene.service.with { $0.machine.revokeTokens() }
            #expect(await scene.push(Self.envelope("two", to: "b")).outcome == .accepted)
            await scene.waitUntilDone()
            let (records, mints, refused) = await scene.service.with {
                ($0.machine.records, $0.machine.mints, $0.machine.unauthenticated)
            }
            #expect(records.map(\.message.target) == ["a", "b"] && mints == 2 && refused >= 1)
            #expect(try await scene.events().count { $0.kind == .deliverySent } == 2)
        }
    }

    @Test func `A broken key for APNs asks for no token, and other devices get their messages`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            await scene.service.with { service in
                service.behavior = { message, earlier in earlier > 2 ? .taken : FCMReaction.byName(message.target) }
            }
            #expect(await scene.push(Self.envelope("ios", to: "THIRD_PARTY_AUTH_ERROR-1")).outcome == .accepted)
            #expect(await scene.push(Self.envelope("android", to: "a")).outcome == .accepted)
            await scene.waitUntilDone()
            let (mints, records) = await scene.service.with { ($0.machine.mints, $0.machine.records) }
            #expect(mints == 1 && records.count == 5)
            #expect(try await scene.events().count { $0.kind == .deliverySent } == 2)
        }
    }

    @Test func `An account with another key halts the app by name, and a rotation resumes it`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential(key: 1))
            #expect(await scene.push(Self.envelope("one", to: "a")).outcome == .accepted)
            await wait(while: await !scene.gateway.status().isHalted)
            guard case .halted(let halt) = await scene.gateway.status().state else {
                Issue.record("not halted")
                return
            }
            #expect(halt.message.contains("invalid_grant") && halt.message.contains("push@shop-1"))
            #expect(!halt.message.contains("assertion"))
            let good = try await scene.credential()
            scene.gateway.credentialChanged(
                connect: try await scene.settings(good).connect, tokens: good.tokens(from: scene.tokens))
            await scene.waitUntilDone()
            #expect(await scene.service.with { $0.machine.records.map(\.message.target) } == ["a"])
        }
    }

    @Test func `After a change to an account that gets no token, messages go out with the token before`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            #expect(await scene.push(Self.envelope("one", to: "a")).outcome == .accepted)
            await scene.waitUntilDone()
            let mints = await scene.service.with { $0.machine.mints }
            let bad = try await scene.credential(key: 1)
            scene.gateway.credentialChanged(
                connect: try await scene.settings(bad).connect, tokens: bad.tokens(from: scene.tokens))
            // The second request comes after the first has failed.
            await wait(while: await scene.service.with { $0.machine.mints } < mints + 2)
            #expect(await scene.push(Self.envelope("two", to: "b")).outcome == .accepted)
            await scene.waitUntilDone()
            #expect(await scene.gateway.status().state == .running)
            #expect(await scene.service.with { $0.machine.records.map(\.message.target) } == ["a", "b"])
        }
    }

    @Test func `A wrong project halts the app and ends no device`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential(project: "shop-2"))
            _ = try await scene.registry.register([
                DeviceRegistration(app: FCMScene.app, token: try FCMCodec().address("a"))
            ])
            #expect(await scene.push(Self.envelope("one", to: "a")).outcome == .accepted)
            await wait(while: await !scene.gateway.status().isHalted)
            #expect(
                try await scene.events().allSatisfy { $0.kind != .deviceDeactivated && $0.kind != .deliveryRejected })
        }
    }

    @Test func `A token endpoint that fails for a while delays messages and loses none`() async throws {
        try await FCMScene.run { scene in
            await scene.service.with { $0.machine.mintFault = (503, "<html>") }
            try await scene.openGateway(try await scene.credential())
            #expect(await scene.push(Self.envelope("one", to: "a")).outcome == .accepted)
            await wait(while: await scene.service.with { $0.machine.mints } < 2)
            await scene.service.with { $0.machine.mintFault = nil }
            await scene.waitUntilDone()
            #expect(await scene.service.with { $0.machine.records.count } == 1)
        }
    }

    @Test func `A check asks FCM to validate, and delivers nothing`() async throws {
        try await FCMScene.run { scene in
            let verdict = { (loaded: LoadedFCM) async throws -> Verdict in
                let loop = EventLoop(name: "trial")
                let probe = Probe.fcm(of: FCMScene.app)
                let settings = try await scene.settings(loaded)
                let trial = Trial(
                    settings, tokens: loaded.tokens(from: scene.tokens), delivery: probe.delivery,
                    timeout: .seconds(600), connectTimeout: .seconds(300))
                let report = await trial.run(on: loop)
                await loop.shutDown()
                return Verdict(
                    report.outcome,
                    of: TrialPeer(
                        address: "\(settings.endpoint)", isOfOwner: false, trust: "ca.pem", description: .fcm,
                        reasons: .fcm), by: probe)
            }
            let good = try await verdict(try await scene.credential())
            #expect(good.kind == .accepted && good.meaning.contains("validate_only"), "\(good)")
            let records = await scene.service.with { $0.machine.records }
            #expect(records.count == 1 && records.first?.message.isValidatedOnly == true && records.first?.name == nil)
            #expect(try await verdict(try await scene.credential(project: "other")).kind == .credentialRefused)
            let wrong = try await verdict(try await scene.credential(key: 1))
            #expect(wrong.kind == .configuration && wrong.meaning.contains("invalid_grant"), "\(wrong)")
            // A token endpoint that is out of reach says nothing about the key.
            let taken = try #require(TakenPort())
            let unreached = try await verdict(
                try await scene.credential(tokens: "https://127.0.0.1:\(taken.number)/token"))
            #expect(unreached.kind == .unreachable && unreached.advice == ConnectionFault.Code.refused.advice)
        }
    }
}
