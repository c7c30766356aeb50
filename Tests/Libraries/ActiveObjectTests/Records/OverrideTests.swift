import Testing

@testable import ActiveObject

/// A record in a view over two tables. Triggers do the writing.
private struct Contact: ActiveRecord, Equatable {
    var objectId: Int64?
    var name: String
    var city: String
    var version = 0

    static var versionColumn: WritableKeyPath<Contact, Int>? { \.version }
    static var rules: [Rule<Contact>] { [.notEmpty(\.name)] }

    static func sql(for operation: RecordOperation, standard: String) -> String {
        let text = standard.replacing("\"contacts\"", with: "contact_view")
        return switch operation {
        case .insert: text + " RETURNING (SELECT max(id) FROM names)"
        case .insertWithID: text + " RETURNING objectId"
        case .update, .remove: text + " RETURNING 1"
        case .find: text
        }
    }

    static func makeView(in transaction: Transaction) throws {
        try transaction.connection.run(
            """
            CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT, version INTEGER) STRICT;
            CREATE TABLE cities (id INTEGER PRIMARY KEY REFERENCES names, city TEXT) STRICT;
            CREATE VIEW contact_view AS SELECT id AS objectId, name, city, version FROM names JOIN cities USING (id);
            CREATE TRIGGER contact_insert INSTEAD OF INSERT ON contact_view BEGIN
                INSERT INTO names VALUES (new.objectId, new.name, new.version);
                INSERT INTO cities VALUES (last_insert_rowid(), new.city);
            END;
            CREATE TRIGGER contact_update INSTEAD OF UPDATE ON contact_view BEGIN
                UPDATE names SET name = new.name, version = new.version WHERE id = old.objectId;
                UPDATE cities SET city = new.city WHERE id = old.objectId;
            END;
            CREATE TRIGGER contact_remove INSTEAD OF DELETE ON contact_view BEGIN
                DELETE FROM cities WHERE id = old.objectId;
                DELETE FROM names WHERE id = old.objectId;
            END;
            """)
    }
}

/// A record type whose insert ignores a second record with the same number.
private struct Once: ActiveRecord, Equatable {
    var objectId: Int64?
    var number: Int
    static var indexes: [Index<Once>] { [.unique(\.number)] }
    static func sql(for operation: RecordOperation, standard: String) -> String {
        operation == .insert ? standard.replacing("INSERT INTO", with: "INSERT OR IGNORE INTO") : standard
    }
}

@Suite struct OverrideTests {
    @Test func `A record can be stored through the triggers of a view`() async throws {
        try await withDatabase { database in
            try await database.write { try Contact.makeView(in: $0) }
            var contacts = [Contact(name: "Joe", city: "Bonn"), Contact(name: "Ann", city: "Rome")]
            try await contacts.saveAll(in: database)
            #expect(contacts.map(\.objectId) == [1, 2])
            var third = Contact(objectId: 30, name: "Eve", city: "Oslo")
            try await third.insert(in: database)
            #expect(third.objectId == 30)

            let read = contacts[0]
            contacts[0].city = "Kyiv"
            try await contacts.saveAll(in: database)
            #expect(try await Contact.find(1, in: database) == contacts[0])
            #expect(contacts.map(\.version) == [2, 2])
            try await database.write { transaction in
                var stale = read
                #expect(throws: ActiveObjectError.self) { try stale.save(in: transaction) }
                #expect(throws: ActiveObjectError.self) { try stale.remove(in: transaction) }
            }
            let before = contacts[0]
            contacts[0].name = "Joseph"
            try await contacts[0].save(changedSince: before, in: database)
            #expect(try await Contact.find(1, in: database) == contacts[0])

            #expect(try await contacts.removeAll(in: database) == 2)
            #expect(try await Contact.find(1, in: database) == nil)
            let error = await #expect(throws: ActiveObjectError.self) {
                var gone = before
                try await gone.save(in: database)
            }
            #expect(error?.code == .notFound)
        }
    }

    @Test func `An insert without effect sets no objectId`() async throws {
        try await withDatabase { database in
            var records = [Once(number: 1), Once(number: 2), Once(number: 1)]
            try await records.saveAll(in: database)
            #expect(records.map(\.objectId) == [1, 2, nil])
            var again = Once(number: 2)
            try await again.save(in: database)
            #expect(again.objectId == nil)
            records[0].number = 3
            try await records[0].save(in: database)
            try await again.upsert(on: \.number, in: database)
            #expect(again.objectId == 2)
            #expect(try await Once.findAll(in: database) == [Once(objectId: 1, number: 3), again])
        }
    }

    @Test func `An override that lacks a parameter is rejected`() async throws {
        struct Short: ActiveRecord {
            var objectId: Int64?
            var text: String
            static func sql(for operation: RecordOperation, standard: String) -> String {
                operation == .update ? "UPDATE shorts SET text = ?1" : standard
            }
        }
        try await withDatabase { database in
            let error = await #expect(throws: ActiveObjectError.self) {
                var short = Short(text: "a")
                try await short.save(in: database)
                try await short.save(in: database)
            }
            #expect(error?.code == .badSQL)
            #expect(error?.message.contains("?2") == true)
        }
    }
}
