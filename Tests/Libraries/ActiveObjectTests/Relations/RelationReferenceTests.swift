import Testing

@testable import ActiveObject

@Suite struct RelationReferenceTests {
    /// The tables that the types declare, created by hand, so that these tests only cover SQLite's behavior.
    private func withLibrary(_ body: (Database, Library) async throws -> Void) async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                for sql in [
                    "CREATE TABLE authors (objectId INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
                    """
                    CREATE TABLE books (objectId INTEGER PRIMARY KEY, authorId INTEGER \
                    REFERENCES authors (objectId) ON DELETE SET NULL, title TEXT NOT NULL) STRICT
                    """,
                    """
                    CREATE TABLE covers (objectId INTEGER PRIMARY KEY, bookId INTEGER NOT NULL \
                    REFERENCES books ON DELETE CASCADE, color TEXT NOT NULL) STRICT
                    """,
                    "CREATE TABLE tags (objectId INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
                    """
                    CREATE TABLE book_tags (objectId INTEGER PRIMARY KEY, \
                    bookId INTEGER NOT NULL REFERENCES books (objectId) ON DELETE CASCADE, \
                    tagId INTEGER NOT NULL REFERENCES tags (objectId) ON DELETE RESTRICT, \
                    name TEXT NOT NULL, weight REAL NOT NULL, note TEXT) STRICT
                    """,
                ] { try transaction.connection.run(sql) }
            }
            try await body(database, try await Library.fill(database))
        }
    }

    private func remove(_ id: Int64, from table: String, in database: Database) async throws {
        try await database.write { transaction in
            do {
                try transaction.connection.run("DELETE FROM \(table) WHERE objectId = \(id)")
            } catch {
                throw transaction.connection.explained(error, removing: id, from: table)
            }
        }
    }

    @Test func `A reference made from a relation equals an explicit one`() {
        let reference = Book.references[0]
        #expect(reference.keyPath == \Book.authorId)
        #expect(ObjectIdentifier(reference.target) == ObjectIdentifier(Author.self))
        #expect(reference.onRemove == .setNil)
        #expect(Cover.references[0].onRemove == .cascade)
        #expect(Reference(Node.parent).onRemove == .restrict)
    }

    @Test
    func `Foreign keys in the file follow the rules of the relations`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            try await Book.tags.add(library.tags[0], to: library.books[0], in: database)
            var cover = Cover(bookId: 1, color: "red")
            try await cover.save(in: database)
            let keys = try await database.write { transaction in
                try transaction.connection.withStatement(
                    """
                    SELECT m.name || '.' || f."from" || ' ' || f.on_delete || ' ' || f."table" FROM sqlite_schema AS m, \
                    pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table' ORDER BY 1
                    """
                ) { statement in
                    var keys: [String] = []
                    while try statement.step() { keys.append(try statement.text(0)) }
                    return keys
                }
            }
            #expect(
                keys == [
                    "book_tags.bookId CASCADE books", "book_tags.tagId RESTRICT tags",
                    "books.authorId SET NULL authors",
                    "covers.bookId CASCADE books",
                ])
            let error = await #expect(throws: ActiveObjectError.self) {
                try await remove(1, from: "tags", in: database)
            }
            #expect(error?.code == .brokenReference && error?.table == "book_tags")
            try await remove(1, from: "authors", in: database)
            #expect(try await Book.find(1, in: database)?.authorId == nil)
            try await remove(1, from: "books", in: database)
            #expect(try await Cover.findAll(in: database).isEmpty)
            #expect(try await BookTag.findAll(in: database).isEmpty)
        }
    }

    @Test func `Cascades and keys set to nil are observed`() async throws {
        try await withLibrary { database, library in
            try await Book.tags.add(library.tags[0], to: library.books[0], in: database)
            var cover = Cover(bookId: 1, color: "red")
            try await cover.save(in: database)
            var changes = database.changes().makeAsyncIterator()
            try await remove(1, from: "authors", in: database)
            #expect(
                await changes.next()?.tables
                    == ["authors": ChangeSet(removed: [1]), "books": ChangeSet(updated: [1, 2, 5])])
            try await remove(1, from: "books", in: database)
            #expect(
                await changes.next()?.tables == [
                    "books": ChangeSet(removed: [1]), "covers": ChangeSet(removed: [1]),
                    "book_tags": ChangeSet(removed: [1]),
                ])
        }
    }

    @Test func `A rejected removal names the referring table`() async throws {
        try await withLibrary { database, library in
            try await Book.tags.add(library.tags[0], to: library.books[0], in: database)
            let error = await #expect(throws: ActiveObjectError.self) {
                try await remove(1, from: "tags", in: database)
            }
            #expect(error?.code == .brokenReference)
            #expect(error?.table == "book_tags" && error?.column == "tagId")
            #expect(
                error?.message == """
                    cannot remove row 1 of tags: book_tags.tagId still refers to it; remove or change the referring \
                    rows, or declare another `onRemove`
                    """)
            try await remove(2, from: "tags", in: database)
            // A reference that does not block the removal is not named.
            #expect(try await Tag.findAll(in: database).map(\.objectId) == [1, 3])
        }
    }

    @Test func `A rejected cascade names the referring table`() async throws {
        try await withLibrary { database, _ in
            try await database.write { transaction in
                try transaction.connection.run(
                    "CREATE TABLE loans (objectId INTEGER PRIMARY KEY, coverId INTEGER REFERENCES covers)")
                var covers = [Cover(bookId: 1, color: "red"), Cover(bookId: 2, color: "blue")]
                try covers.saveAll(in: transaction)
                try transaction.connection.run("INSERT INTO loans VALUES (1, 2)")
            }
            try await remove(1, from: "books", in: database)
            let error = await #expect(throws: ActiveObjectError.self) {
                try await remove(2, from: "books", in: database)
            }
            #expect(error?.table == "loans" && error?.column == "coverId")
            #expect(error?.message.contains("still refers to a row of covers that would be removed with it") == true)
        }
    }

    @Test func `A rejected removal of several rows names the table that may refer to them`() async throws {
        try await withLibrary { database, library in
            try await Book.tags.add(library.tags[0], to: library.books[0], in: database)
            try await database.write { transaction in
                let connection = transaction.connection
                let broken = ActiveObjectError(.brokenReference, message: "broken")
                let error = connection.explained(broken, removing: nil, from: "Tags") as? ActiveObjectError
                #expect(error?.message.hasPrefix("cannot remove rows of Tags: book_tags.tagId may still refer") == true)
            }
        }
    }

    @Test func `Saving a dangling reference names the missing row`() async throws {
        try await withLibrary { database, _ in
            let error = await #expect(throws: ActiveObjectError.self) {
                try await database.write { transaction in
                    var join = BookTag(bookId: 1, tagId: 77)
                    do {
                        try join.save(in: transaction)
                    } catch {
                        throw transaction.connection.explained(error, saving: join)
                    }
                }
            }
            #expect(error?.code == .brokenReference && error?.column == "tagId")
            #expect(
                error?.message == """
                    cannot save to book_tags: tagId refers to row 77 of tags, which does not exist; save that row first
                    """)
        }
    }

    @Test func `Other errors are passed on unchanged`() async throws {
        try await withLibrary { database, _ in
            try await database.write { transaction in
                let error = ActiveObjectError(.busy, message: "busy")
                let same = transaction.connection.explained(error, removing: 1, from: "tags") as? ActiveObjectError
                #expect(same?.code == .busy)
                // No row refers to it any more, so only SQLite's message is known.
                let broken = ActiveObjectError(.brokenReference, message: "broken")
                let kept = transaction.connection.explained(broken, removing: 1, from: "tags") as? ActiveObjectError
                #expect(kept?.message == "broken")
            }
        }
    }
}
