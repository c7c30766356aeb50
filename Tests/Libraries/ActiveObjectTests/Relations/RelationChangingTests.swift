import Testing

@testable import ActiveObject

@Suite struct RelationChangingTests {
    // MARK: HasMany

    @Test func `Setting targets takes effect even if they were reassigned since they were read`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let (ann, cid) = (library.authors[0], library.authors[2])
            var books = try await ann.load(Author.books, in: database)
            var given = books[1]
            try await Author.books.add(&given, to: cid, in: database)
            // According to these values, all books belong to Ann.
            try await Author.books.set(&books, of: ann, in: database)
            #expect(try await ann.load(Author.books, in: database) == books)
            #expect(try await cid.load(Author.books, in: database).isEmpty)
        }
    }

    @Test func `Removing several targets does not affect those of other records`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let (ann, bob) = (library.authors[0], library.authors[1])
            var some = Array(library.books[1...3].reversed())
            try await Author.books.remove(&some, from: ann, in: database)
            #expect(some.map(\.authorId) == [nil, bob.objectId, nil])
            #expect(try await ann.load(Author.books, in: database).map(\.title) == ["B", "C"])
            #expect(try await bob.load(Author.books, in: database).map(\.title) == ["D"])
        }
    }

    // MARK: ManyToMany

    @Test func `Tags are added once, removed, and set by differences`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let (book, other, tags) = (library.books[0], library.books[1], library.tags)
            try await Book.tags.add(tags[0], to: book, in: database)
            try await Book.tags.add([tags[0], tags[1], tags[1]], to: book, in: database)
            try await Book.tags.add(tags[0], to: other, in: database)
            let joins = try await BookTag.findAll(in: database)
            #expect(joins.map(\.tagId) == [1, 2, 1])
            // The other columns of the join have their defaults.
            #expect(joins[0] == BookTag(objectId: 1, bookId: 1, tagId: 1, name: "", weight: 2.5, note: nil))

            try await Book.tags.remove(tags[0], from: book, in: database)
            try await Book.tags.remove(tags[2], from: book, in: database)
            #expect(try await book.load(Book.tags, in: database) == [tags[1]])
            #expect(try await other.load(Book.tags, in: database) == [tags[0]])

            try await Book.tags.set([tags[2], tags[1]], of: book, in: database)
            // The join of the tag that stayed is still the same row.
            #expect(try await BookTag.findAll(in: database).map(\.objectId) == [2, 3, 4])
            #expect(try await book.load(Book.tags, in: database) == [tags[1], tags[2]])
            try await Book.tags.set([], of: book, in: database)
            #expect(try await BookTag.findAll(in: database).map(\.bookId) == [other.objectId])
        }
    }

    @Test func `Unchanged joins are not written`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let (book, tags) = (library.books[0], library.tags)
            try await Book.tags.set([tags[0], tags[1]], of: book, in: database)
            var changes = BookTag.changes(in: database).makeAsyncIterator()
            try await Book.tags.set([tags[1], tags[0]], of: book, in: database)
            try await Book.tags.add(tags, to: book, in: database)
            #expect(await changes.next() == ChangeSet(inserted: [3]))
            try await Book.tags.set([tags[1]], of: book, in: database)
            #expect(await changes.next() == ChangeSet(removed: [1, 3]))
        }
    }

    @Test func `A join record with properties of its own is loaded with its target`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let (book, tags) = (library.books[0], library.tags)
            var join = BookTag(bookId: 0, tagId: 0, weight: 7, note: "by hand")
            try await Book.tags.add(tags[1], to: book, as: &join, in: database)
            #expect(join == BookTag(objectId: 1, bookId: 1, tagId: 2, weight: 7, note: "by hand"))
            try await Book.tags.add(tags[0], to: book, in: database)
            let links = try await Book.tags.order(by: \.name, descending: true).loadLinks(for: book, in: database)
            #expect(links.map(\.target) == [tags[1], tags[0]])
            #expect(links.map(\.join.note) == ["by hand", nil])
        }
    }

    @Test func `A record without objectId cannot be joined`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let unsaved = await #expect(throws: ActiveObjectError.self) {
                try await Book.tags.add(Tag(name: "new"), to: library.books[0], in: database)
            }
            #expect(unsaved?.code == .missingValue)
            #expect(unsaved?.message == "a Tag without objectId cannot be referred to; save it first")
            await #expect(throws: ActiveObjectError.self) {
                try await Book.tags.set(library.tags, of: Book(title: "new"), in: database)
            }
            #expect(try await BookTag.findAll(in: database).isEmpty)
        }
    }

    @Test func `A join record without a default for a column causes an error that names the column`() async throws {
        struct Grade: ActiveRecord {
            enum Level: String, Codable { case low, high }
            var objectId: Int64?
            var bookId: Int64
            var tagId: Int64
            var level: Level
        }
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let graded = ManyToMany<Book, Grade, Tag>(\.bookId, to: \.tagId)
            let error = await #expect(throws: ActiveObjectError.self) {
                try await graded.add(library.tags[0], to: library.books[0], in: database)
            }
            #expect(error?.column == "level" && error?.code == .missingValue)
            var grade = Grade(bookId: 0, tagId: 0, level: .high)
            try await graded.add(library.tags[0], to: library.books[0], as: &grade, in: database)
            #expect(try await library.books[0].load(graded, in: database) == [library.tags[0]])
        }
    }

    // MARK: HasMany and HasOne

    @Test func `Targets of HasMany are added, removed and set`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let (ann, bob) = (library.authors[0], library.authors[1])
            var new = Book(title: "F")
            try await Author.books.add(&new, to: bob, in: database)
            #expect(new.authorId == bob.objectId && new.objectId == 6)
            #expect(try await bob.load(Author.books, in: database).map(\.title) == ["D", "F"])

            // Only a book of this author is removed.
            try await Author.books.remove(&new, from: ann, in: database)
            #expect(new.authorId == bob.objectId)
            try await Author.books.remove(&new, from: bob, in: database)
            #expect(new.authorId == nil)
            #expect(try await Book.find(6, in: database) == new)

            var both = [new, library.books[3]]
            try await Author.books.add(&both, to: bob, in: database)
            #expect(try await bob.load(Author.books, in: database).map(\.title) == ["D", "E", "F"])

            var changes = Book.changes(in: database).makeAsyncIterator()
            var kept = [library.books[0], Book(title: "G"), both[0]]
            try await Author.books.order(by: \.title).set(&kept, of: ann, in: database)
            #expect(kept.map(\.authorId) == [1, 1, 1])
            #expect(try await ann.load(Author.books, in: database).map(\.title) == ["B", "F", "G"])
            #expect(try await Book.find(2, in: database)?.authorId == nil)
            // "B" is unchanged; "A" and "C" lose their author.
            #expect(await changes.next() == ChangeSet(inserted: [7], updated: [2, 5, 6]))
        }
    }

    @Test func `A required key cannot be removed`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            var cover = Cover(bookId: 1, color: "red")
            try await Book.cover.set(&cover, of: library.books[1], in: database)
            #expect(try await Book.cover.load(for: library.books, in: database) == [2: cover])
            let error = await #expect(throws: ActiveObjectError.self) {
                var cover = try await library.books[1].load(Book.cover, in: database)!
                try await Book.cover.remove(&cover, from: library.books[1], in: database)
            }
            #expect(error?.code == .badRecord && error?.column == "bookId")
            // Setting another cover would leave the first one without a book, so the call is rolled back.
            await #expect(throws: ActiveObjectError.self) {
                var second = Cover(bookId: 0, color: "blue")
                try await Book.cover.set(&second, of: library.books[1], in: database)
            }
            #expect(try await Cover.findAll(in: database) == [cover])
        }
    }

    @Test func `Setting the target of HasOne replaces the previous one`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let only = HasOne<Author, Book>(\.authorId)
            var book = library.books[3]
            try await only.set(&book, of: library.authors[0], in: database)
            #expect(try await library.authors[0].load(Author.books, in: database) == [book])
            try await only.remove(&book, from: library.authors[0], in: database)
            #expect(try await library.authors[0].load(only, in: database) == nil)
        }
    }
}
