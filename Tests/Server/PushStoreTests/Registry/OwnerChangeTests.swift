import PushModel
import PushTime
import TestSupport
import Testing

@testable import PushStore

/// What the registry knows of devices that have another owner, or none, over both engines.
@Suite struct OwnerChangeTests {
    private typealias Scene = RegistryScene

    private static func message(to audience: Audience) -> AcceptedMessage {
        let message = Message(id: MessageID("m")!, app: Scene.shop, payload: [])
        return AcceptedMessage(
            seq: 1, acceptedAt: WallTime(milliseconds: 0), fingerprint: MessageFingerprint(1), message: message,
            audience: audience, needsClaim: true)
    }

    @Test(arguments: RegistryKind.allCases)
    func `Another user, a sign-out, a removal and an erasure are known from then on`(_ kind: RegistryKind) async throws
    {
        try await Scene.open(on: kind) { registry, scene in
            let changes = registry.ownerChanges
            let obstacle = { (number: Int, isPersonal: Bool, since: UInt32) in
                changes.obstacle(
                    to: Scene.id(number), foundAt: since, of: Self.message(to: isPersonal ? .users(["ada"]) : .everyone)
                )
            }
            _ = try await registry.register((0..<6).map { Scene.registration($0, user: "ada") })
            let before = changes.latest
            scene.now += 10
            // The same user again, another one, and none.
            _ = try await registry.register([
                Scene.registration(0, user: "ada"), Scene.registration(1, user: "eva"),
                Scene.registration(2, user: ""),
            ])
            #expect((0..<3).map { obstacle($0, true, before) } == [nil, .reassigned, .reassigned])
            #expect((0..<3).map { obstacle($0, false, before) } == [nil, nil, nil])
            // A message to both says the same to each.
            let toBoth = Self.message(to: .users(["ada", "eva"]))
            #expect(changes.obstacle(to: Scene.id(1), foundAt: before, of: toBoth) == nil)
            #expect(changes.obstacle(to: Scene.id(2), foundAt: before, of: toBoth) == .reassigned)
            // A device that was deactivated keeps its user.
            _ = try await registry.deactivate([Scene.id(5)], reason: "lost")
            scene.now += 10
            _ = try await registry.register([Scene.registration(5, user: "eva")])
            #expect(obstacle(5, true, before) == .reassigned)
            scene.now += 10
            _ = try await registry.remove([Scene.id(3)])
            _ = try await registry.erase([Scene.id(4)], as: "pseudonym")
            scene.now += 10
            let between = changes.latest
            _ = try await registry.register([
                Scene.registration(3, user: "ada"), Scene.registration(4, user: "carl"),
            ])
            #expect((3..<5).map { obstacle($0, false, before) } == [.unknownDevice, .erased])
            #expect((0..<5).map { obstacle($0, true, between) } == [nil, nil, nil, nil, nil])
            #expect(!registry.inactive.contains(Scene.id(3)) && !registry.inactive.contains(Scene.id(4)))
        }
    }

    @Test func `So many changes are remembered`() {
        let changes = SharedOwnerChanges(limit: 10)
        let message = Self.message(to: .users(["ada"]))
        for number in 0..<10 { changes.note(.removed, of: Scene.id(number)) }
        for number in 10..<15 { changes.note(.newUser(nil), of: Scene.id(number)) }
        #expect(changes.latest == 15)
        #expect((0..<15).filter { changes.obstacle(to: Scene.id($0), foundAt: 0, of: message) == nil } == [])
        for number in 15..<20 { changes.note(.newUser(nil), of: Scene.id(number)) }
        #expect(
            (0..<20).filter { changes.obstacle(to: Scene.id($0), foundAt: 0, of: message) == nil }
                == Array(0..<10))
        #expect(changes.obstacle(to: Scene.id(19), foundAt: 20, of: message) == nil)
    }
}
