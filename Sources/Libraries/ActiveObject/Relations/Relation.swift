/// A connection of the records of two types: ``BelongsTo``, ``HasMany``, ``HasOne`` or ``ManyToMany``.
///
/// A relation is a value that a type declares. It costs nothing until records are loaded by it, and records do not
/// store anything for it:
///
/// ```swift
/// struct Author: ActiveRecord {
///     var objectId: Int64?
///     var name: String
///     static var books: HasMany<Author, Book> { HasMany(\.authorId) }
/// }
///
/// struct Book: ActiveRecord {
///     var objectId: Int64?
///     var authorId: Int64?
///     var title: String
///     static var author: BelongsTo<Book, Author> { BelongsTo(\.authorId, onRemove: .setNil) }
///     static var tags: ManyToMany<Book, BookTag, Tag> { ManyToMany(\.bookId, to: \.tagId) }
///     static var references: [Reference<Book>] { [Reference(author)] }
/// }
///
/// let author = try await book.load(Book.author)                 // one book: Author?
/// let books = try await Author.books.load(for: authors)         // all of them at once: [Int64: [Book]]
/// for author in authors { print(author.name, books[author.objectId!, default: []].count) }
/// ```
///
/// Loading for several records takes one statement, regardless of their number.
public protocol Relation<Record>: Sendable {
    /// The type that declares the relation.
    associatedtype Record: ActiveRecord
    /// The related records of one record: `Author?` or `[Book]`.
    associatedtype Loaded: Sendable
    /// The related records of one of several records. A record without related records has no entry.
    associatedtype Each: Sendable

    /// Returns the related records of one record.
    func load(for record: Record, in snapshot: Snapshot) throws -> Loaded
    /// Returns the related records of several records by their `objectId`; for ``BelongsTo``, by the keys that they
    /// hold.
    func load(for records: [Record], in snapshot: Snapshot) throws -> [Int64: Each]
}

extension Relation {
    /// Returns the related records of one record from a database, by default the one that the type names.
    public func load(for record: Record, in database: Database? = nil) async throws -> Loaded {
        try await (database ?? Record.database()).readOnce { try load(for: record, in: $0) }
    }

    /// Returns the related records of several records from a database, by default the one that the type names.
    public func load(for records: [Record], in database: Database? = nil) async throws -> [Int64:
        Each]
    {
        try await (database ?? Record.database()).readOnce { try load(for: records, in: $0) }
    }
}

extension ActiveRecord {
    /// Returns the related records of this record.
    public func load<Kind: Relation<Self>>(_ relation: Kind, in snapshot: Snapshot) throws
        -> Kind.Loaded
    {
        try relation.load(for: self, in: snapshot)
    }

    /// Returns the related records of this record from a database, by default the one that the type names.
    public func load<Kind: Relation<Self>>(
        _ relation: Kind, in database: Database? = nil
    ) async throws -> Kind.Loaded {
        try await relation.load(for: self, in: database)
    }
}
