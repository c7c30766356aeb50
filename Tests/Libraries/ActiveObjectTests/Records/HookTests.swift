import Testing

@testable import ActiveObject

/// A record that logs its hooks through the transaction in which they run.
private struct Entry: ActiveRecord, Equatable {
    var objectId: Int64?
    var text: String
}

private struct Refused: Error {}

private struct Page: ActiveRecord, Equatable {
    var objectId: Int64?
    var title: String
    /// The hook that throws.
    var refuses = ""
    /// The number of other pages that this page saves when it is saved.
    var children = 0
    var isSaved: Bool?

    static var columns: [Column<Page>] { [Column(\.isSaved, isStored: false)] }
    static var indexes: [Index<Page>] { [.unique(\.title)] }
    static var rules: [Rule<Page>] {
        [Rule(\.title, message: "must be trimmed") { !$0.hasPrefix(" ") }]
    }

    mutating func willSave(in transaction: Transaction) throws {
        try note("will save \(title), \(objectId == nil ? "new" : "known")", in: transaction)
        title = String(title.drop { $0 == " " })
        if refuses == "willSave" { throw Refused() }
    }

    mutating func didSave(in transaction: Transaction) throws {
        let id = try #require(objectId)
        let row = try #require(try Page.find(id, in: transaction))
        try note("did save \(row.title)", in: transaction)
        if refuses == "didSave" { throw Refused() }
        isSaved = true
        if children > 0 {
            var child = Page(title: title + "/\(children)", children: children - 1)
            try child.save(in: transaction)
        }
    }

    func willRemove(in transaction: Transaction) throws {
        try note("will remove \(title)", in: transaction)
        if refuses == "willRemove" { throw Refused() }
    }

    func didRemove(in transaction: Transaction) throws {
        #expect(try Page.find(try #require(objectId), in: transaction) == nil)
        try note("did remove \(title)", in: transaction)
        if refuses == "didRemove" { throw Refused() }
    }

    private func note(_ text: String, in transaction: Transaction) throws {
        var entry = Entry(text: text)
        try entry.save(in: transaction)
    }
}

/// A record with one hook, which counts its calls.
private struct Counted: ActiveRecord, Equatable {
    var objectId: Int64?
    var count = 0

    mutating func willSave(in transaction: Transaction) throws { count += 1 }
}

/// A record with hooks from a protocol of the program.
private protocol Noting: ActiveRecord {}
extension Noting {
    mutating func didSave(in transaction: Transaction) throws {
        var entry = Entry(text: "did save")
        try entry.save(in: transaction)
    }
    func willRemove(in transaction: Transaction) throws {
        var entry = Entry(text: "will remove")
        try entry.save(in: transaction)
    }
}
private struct Noted: Noting, Equatable {
    var objectId: Int64?
}

/// A record without hooks.
private struct Bare: ActiveRecord, Equatable {
    var objectId: Int64?
    var name: String
    static var indexes: [Index<Bare>] { [.unique(\.name)] }
}

@Suite struct HookTests {
    @Test func `The only hook of a type is called each time`() async throws {
        try await withDatabase { database in
            var records = [Counted(), Counted(), Counted()]
            try await records.saveAll(in: database)
            try await records.saveAll(in: database)
            try await records[0].save(in: database)
            #expect(records.map(\.count) == [3, 2, 2])
            #expect(try await Counted.findAll(in: database) == records)
        }
    }

    @Test func `A hook can be inherited from a protocol`() async throws {
        try await withDatabase { database in
            var records = [Noted(), Noted()]
            try await records.saveAll(in: database)
            try await records.removeAll(in: database)
            let notes = try await entries(in: database)
            #expect(notes == ["did save", "did save", "will remove", "will remove"])
        }
    }

    @Test func `The first record of a type shows that it has no hooks`() async throws {
        try await withDatabase { database in
            let plan = try Tables.table(of: Bare.self).saving
            #expect(!plan.isPlain)
            // The first array of the type: its first record is saved in one way, the others in another.
            let refused = await thrownError {
                var records = ["a", "b", "c", "b"].map { Bare(name: $0) }
                try await records.saveAll(in: database)
            }
            #expect(refused?.code == .notUnique && refused?.index == 3)
            #expect(plan.isPlain)
            let none = try await Bare.findAll(in: database)
            #expect(none.isEmpty)

            var records = ["a", "b", "c"].map { Bare(name: $0) }
            try await records.saveAll(in: database)
            #expect(records.map(\.objectId) == [1, 2, 3])
            try await records.removeAll(in: database)
            #expect(plan.absentHooks.contain(.ofRemoving))
        }
    }

    private func entries(in database: Database) async throws -> [String] {
        try await Entry.findAll(in: database).map(\.text)
    }

    @Test func `Hooks run before and after the write, and changes by willSave are saved`() async throws {
        try await withDatabase { database in
            var page = Page(title: " one")
            try await page.save(in: database)
            #expect(page == Page(objectId: 1, title: "one", isSaved: true))
            page.title = "two"
            try await page.save(in: database)
            #expect(try await Page.find(1, in: database)?.title == "two")
            #expect(try await page.remove(in: database))
            #expect(try await !page.remove(in: database))
            #expect(
                try await entries(in: database) == [
                    "will save  one, new", "did save one", "will save two, known", "did save two", "will remove two",
                    "did remove two",
                ])
        }
    }

    @Test(arguments: ["willSave", "didSave"])
    func `An error of a hook undoes the save and the changes of hooks`(hook: String) async throws {
        try await withDatabase { database in
            var page = Page(title: "one")
            try await page.save(in: database)
            let before = try await entries(in: database)
            // The transaction continues; only the operation is undone.
            try await database.write { [page] transaction in
                var new = Page(title: " two", refuses: hook)
                #expect(throws: Refused.self) { try new.save(in: transaction) }
                #expect(new == Page(title: " two", refuses: hook))

                var known = page
                known.title = "three"
                known.refuses = hook
                #expect(throws: Refused.self) { try known.save(in: transaction) }

                var pages = [Page(title: "four"), new, page]
                #expect(throws: Refused.self) { try pages.saveAll(in: transaction) }
                #expect(pages == [Page(title: "four"), new, page])
            }
            #expect(try await Page.findAll(in: database).map(\.title) == ["one"])
            #expect(try await entries(in: database) == before)
        }
    }

    @Test(arguments: ["willRemove", "didRemove"])
    func `An error of a hook keeps the row`(hook: String) async throws {
        try await withDatabase { database in
            var pages = [Page(title: "one"), Page(title: "two", refuses: hook)]
            try await pages.saveAll(in: database)
            let before = try await entries(in: database)
            let saved = pages
            await #expect(throws: Refused.self) {
                var pages = saved
                try await pages.removeAll(in: database)
            }
            try await database.write { transaction in
                var page = saved[1]
                #expect(throws: Refused.self) { try page.remove(in: transaction) }
                #expect(page == saved[1])
            }
            #expect(try await Page.findAll(in: database).count == 2)
            #expect(try await entries(in: database) == before)
        }
    }

    @Test func `Hooks can save records of the same type`() async throws {
        try await withDatabase { database in
            var pages = [Page(title: "a", children: 3), Page(title: "b", children: 1)]
            try await pages.saveAll(in: database)
            let titles = try await Page.findAll(in: database).map(\.title)
            #expect(titles == ["a", "a/3", "a/3/2", "a/3/2/1", "b", "b/1"])
            #expect(pages.map(\.objectId) == [1, 5])

            var again = [Page(title: "a", children: 0), Page(title: " c")]
            try await again.upsertAll(on: \.title, in: database)
            #expect(again.map(\.objectId) == [1, 7])
            #expect(again.map(\.isSaved) == [true, true])
            #expect(again[1].title == "c")

            var kept = Page(title: "a", children: 5)
            try await kept.upsert(on: \.title, updating: .nothing, in: database)
            #expect(kept == Page(objectId: 1, title: "a"))
        }
    }

    @Test func `Rules are checked after willSave`() async throws {
        try await withDatabase { database in
            let page = Page(title: " one")
            #expect(try await page.failures(in: database).map(\.column) == ["title"])
            var saved = page
            try await saved.save(in: database)
            #expect(saved.title == "one")
        }
    }

    @Test func `Saving an unchanged record calls only willSave`() async throws {
        try await withDatabase { database in
            var page = Page(title: "one")
            try await page.save(in: database)
            let before = page
            #expect(try await !page.save(changedSince: before, in: database))
            page.title = " one"
            #expect(try await !page.save(changedSince: before, in: database))
            #expect(page.title == "one")
            page.title = "two"
            #expect(try await page.save(changedSince: before, in: database))
            #expect(try await entries(in: database).filter { $0.hasPrefix("did") } == ["did save one", "did save two"])
        }
    }
}
