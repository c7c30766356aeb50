import Foundation
import PushModel
import PushTime
import Testing

@testable import PushStore

@Suite struct ErasureTests {
    private static let shop = LedgerScene.shop

    private static func request(
        _ id: String, to audience: Audience, of app: AppID = shop, values: [[UInt8]]? = nil, notBefore: Int64? = nil
    ) throws -> PushRequest {
        var wording: Wording?
        if let values, case .users(let users) = audience {
            var kept = UserValues(of: users, count: 1)
            for value in values { _ = kept.add(value) }
            let form = Wording.Form(
                locale: nil, payload: LedgerScene.payload, places: [Wording.Place(offset: 1, value: 0)])
            wording = Wording([form], values: kept)
        }
        return PushRequest(
            Message(
                id: try #require(MessageID(id)), app: app, payload: LedgerScene.payload, wording: wording,
                notBefore: notBefore.map { UnixSeconds($0) }), to: audience)
    }

    /// Returns the users of stored messages, with the pseudonym as "-".
    private static func users(of messages: [AcceptedMessage], after erasure: UserErasure) -> [[String]] {
        messages.map { message in
            guard case .users(let users) = message.audience else { return [] }
            return users.map { $0 == erasure.pseudonym ? "-" : $0 }
        }
    }

    @Test func `Stored messages forget a user, and the others stay as they are`() async throws {
        try await withLedger(on: .sqlite) { scene in
            let other = try #require(AppID("other"))
            let secret = Array("a secret of ada".utf8)
            _ = await scene.accept([
                try Self.request("alone", to: .users(["ada"])),
                try Self.request("both", to: .users(["ada", "bob"]), values: [secret, Array("bob's".utf8)]),
                try Self.request("bob", to: .users(["bob"])),
                try Self.request("else", to: .users(["ada"]), of: other),
                try Self.request("tag", to: .tags(.tag("ada"))),
                try Self.request("later", to: .users(["bob", "ada"]), notBefore: scene.now + 10),
            ])
            let erasure = UserErasure(of: "ada", in: [Self.shop], at: .distantFuture)
            #expect(try await scene.ledger.erase(erasure) == 3)
            #expect(try await scene.ledger.erase(erasure) == 0)
            for _ in 0..<2 {
                let left = try await scene.load(Array(1...5))
                #expect(
                    Self.users(of: left, after: erasure) == [["-"], ["bob", "-"], ["bob"], ["ada"], []])
                #expect(left.map(\.message.id.text) == ["alone", "both", "bob", "else", "tag"])
                #expect(left[0].message.payload == Array("{}".utf8))
                #expect(left[2].message.payload == LedgerScene.payload)
                let values = try #require(left[1].message.wording?.values)
                #expect(Array(values.value(0, of: 0)) == Array("bob's".utf8) && values.length(0, of: 1) == 0)
                let due = try await scene.due(at: scene.now + 20)
                #expect(Self.users(of: due.messages, after: erasure) == [["bob", "-"]])
                try await scene.reopen()
            }
        }
    }

    @Test func `Nothing of an erased value is left in the files`() async throws {
        try await withLedger(on: .sqlite) { scene in
            let secret = "the-value-of-ada-"
            for number in 0..<200 {
                let value = Array((secret + String(repeating: "x", count: 20 * number)).utf8)
                _ = await scene.accept(
                    try Self.request("m\(number)", to: .users(["ada", "bob"]), values: [value, [1]]))
            }
            await scene.ledger.flush()
            #expect(try Self.copies(of: secret, in: scene.folder) > 0)
            let erasure = UserErasure(of: "ada", in: nil, at: .distantFuture)
            #expect(try await scene.ledger.erase(erasure) == 200)
            #expect(try Self.copies(of: secret, in: scene.folder) == 0)
        }
    }

    @Test func `An erasure that was cut off is continued with its pseudonym, and ended by it`() async throws {
        try await withLedger(on: .sqlite) { scene in
            _ = await scene.accept([try Self.request("held", to: .users(["ada", "bob"]))])
            let order = { (user: String, apps: [AppID]?) in UserErasure(of: user, in: apps, at: .distantFuture) }
            let first = try await scene.ledger.begin(order("ada", nil))
            #expect(scene.backlog.openErasures == 0)
            for _ in 0..<2 {
                #expect(try await scene.ledger.begin(order("ada", nil)).pseudonym == first.pseudonym)
                try await scene.reopen()
                #expect(scene.backlog.openErasures == 1)
            }
            // Other users, and the same one in some apps, are others.
            for other in [order("bob", nil), order("ada", [Self.shop]), order("ada", [])] {
                #expect(try await scene.ledger.begin(other).pseudonym == other.pseudonym)
                _ = try await scene.ledger.erase(other)
            }
            let again = try await scene.ledger.begin(order("ada", nil))
            #expect(again.pseudonym == first.pseudonym)
            #expect(try await scene.ledger.erase(again) == 0)
            #expect(try await scene.ledger.begin(order("ada", nil)).pseudonym != first.pseudonym)
        }
    }

    @Test func `The pages of an erasure that was cut off become free again`() async throws {
        try await withLedger(on: .sqlite) { scene in
            await scene.ledger.close()
            do {
                let connection = try SQLiteConnection(scene.path)
                for number in 1...3 {
                    let add = try connection.prepare("INSERT INTO meta VALUES ('wipe/' || ?, zeroblob(100000))")
                    add.bind(1, Int64(number))
                    try add.run()
                }
            }
            try await scene.reopenOnly()
            await scene.trim()
            await scene.ledger.close()
            do {
                let connection = try SQLiteConnection(scene.path)
                let left = try connection.prepare("SELECT count(*) FROM meta WHERE name LIKE 'wipe/%'")
                defer { left.reset() }
                #expect(try left.step() && left.number(0) == 0)
            }
            try await scene.reopenOnly()
        }
    }

    private static func copies(of text: String, in folder: String) throws -> Int {
        var count = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            var rest = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))[...]
            while let found = rest.range(of: Data(text.utf8)) {
                count += 1
                rest = rest[found.upperBound...]
            }
        }
        return count
    }
}
