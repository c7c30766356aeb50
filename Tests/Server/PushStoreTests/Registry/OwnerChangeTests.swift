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

    @Test func `So many changes are remembered, and of those before, the devices`() {
        let changes = SharedOwnerChanges(limit: 10)
        let (personal, broad) = (Self.message(to: .users(["ada"])), Self.message(to: .everyone))
        /// Returns a letter for each device.
        func found(_ message: AcceptedMessage, since: UInt32 = 0) -> String {
            (0..<21).map { number in
                switch changes.obstacle(to: Scene.id(number), foundAt: since, of: message) {
                case nil: "-"
                case .unknownDevice: "u"
                case .reassigned: "r"
                default: "?"
                }
            }.joined()
        }
        for number in 0..<5 { changes.note(.removed, of: Scene.id(number)) }
        for number in 5..<15 { changes.note(.newUser("ada"), of: Scene.id(number)) }
        #expect(changes.latest == 15)
        // The user is still known.
        #expect(found(personal) == "uuuuu----------------")
        for number in 15..<20 { changes.note(.newUser(nil), of: Scene.id(number)) }
        // The first ten are forgotten.
        #expect(found(personal) == "uuuuurrrrr-----rrrrr-")
        for number in 20..<30 { changes.note(.newUser(nil), of: Scene.id(100 + number)) }
        #expect(found(personal) == "uuuuurrrrrrrrrrrrrrr-")
        #expect(found(broad) == "uuuuu----------------")
        // What was found after them is not concerned.
        #expect(found(personal, since: 10) == "----------rrrrrrrrrr-")
        #expect(found(personal, since: 30) == String(repeating: "-", count: 21))
    }

    @Test func `What was found before all changes of which anything is known goes to no user`() {
        let changes = SharedOwnerChanges(limit: 10)
        let (personal, broad) = (Self.message(to: .users(["ada"])), Self.message(to: .everyone))
        let obstacle = { (since: UInt32, message: AcceptedMessage) in
            changes.obstacle(to: Scene.id(5000), foundAt: since, of: message)
        }
        for number in 0..<90 { changes.note(.newUser(nil), of: Scene.id(number)) }
        #expect(obstacle(0, personal) == nil)
        for number in 90..<100 { changes.note(.newUser(nil), of: Scene.id(number)) }
        #expect(obstacle(0, personal) == .reassigned && obstacle(9, personal) == .reassigned)
        #expect(obstacle(10, personal) == nil && obstacle(0, broad) == nil)
    }

    @Test func `A device without a change is hardly ever among those with one`() {
        // So many fill it.
        let limit = 1 << 14
        var changes = ForgottenOwners(limit: limit)
        func id(_ number: Int) -> DeviceID { Scene.id(number) }
        for number in 0..<limit { changes.add(id(number), number: UInt32(number), isEnd: number % 16 != 0) }
        #expect(changes.last == UInt32(limit - 1))
        #expect((0..<limit).allSatisfy { changes.hasChange(of: id($0)) })
        #expect((0..<limit).allSatisfy { changes.hasEnd(of: id($0)) == ($0 % 16 != 0) })
        let wrong = (limit..<limit + 100_000).count { changes.hasChange(of: id($0)) || changes.hasEnd(of: id($0)) }
        #expect(wrong < 20, "\(wrong) of 100,000")
    }
}
