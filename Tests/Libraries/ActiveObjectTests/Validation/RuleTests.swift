import ActiveObject
import FoundationEssentials
import Testing

private struct Member: ActiveRecord, Equatable {
    struct Address: Codable, Equatable { var city: String }

    var objectId: Int64?
    var name = "Joe"
    var nick: String?
    var age = 30
    var height: Double?
    var birthdate: Date? = Date(timeIntervalSince1970: 0)
    var password = "long enough"
    var photo: Data?
    var team = 1
    var seat = 1
    var address = Address(city: "Bonn")

    static var columns: [Column<Member>] {
        [Column(\.password, named: "pass_word", isPrivate: true), Column(\.name, ignoresCase: true)]
    }
    static var rules: [Rule<Member>] {
        [
            .notEmpty(\.name), .length(\.name, in: 1...8), .unique(\.name), .notEmpty(\.nick),
            .length(\.nick, in: ...3),
            .range(\.age, in: 0...150), .range(\.height, in: 0.5..<3), .present(\.birthdate),
            .length(\.password, in: 8...),
            .length(\.photo, in: ..<4), .unique(\.team, \.seat),
            Rule(\.age, message: "must be even") { $0 % 2 == 0 },
            Rule("age and birthdate", message: "must agree") { $0.age >= 18 || $0.birthdate != nil },
            .notEmpty(\.address.city),
        ]
    }
}

@Suite struct RuleTests {
    @Test(arguments: [
        (Member(name: ""), ["name must not be empty", "name must have 1 to 8 characters"]),
        (Member(name: "much too long"), ["name must have 1 to 8 characters"]),
        (Member(nick: ""), ["nick must not be empty"]),
        (Member(nick: "four"), ["nick must have at most 3 characters"]),
        (Member(age: 152), ["age must be 0 to 150"]),
        (Member(age: -2), ["age must be 0 to 150"]),
        (Member(age: 31), ["age must be even"]),
        (Member(height: 3), ["height must be 0.5 to less than 3.0"]),
        (Member(birthdate: nil), ["birthdate must be given"]),
        (Member(password: "hunter2"), ["pass_word must have at least 8 characters"]),
        (Member(photo: Data([1, 2, 3, 4])), ["photo must have less than 4 elements"]),
        (Member(age: 16, birthdate: nil), ["birthdate must be given", "age and birthdate must agree"]),
        (Member(address: .init(city: "")), [#"\Member.address.city must not be empty"#]),
        (Member(nick: "abc", height: 1, photo: Data([1, 2, 3])), []),
    ])
    private func `Each rule has its message`(member: Member, expected: [String]) async throws {
        try await withDatabase { database in
            let failures = try await member.failures(in: database)
            #expect(failures.map(\.description) == expected)
        }
    }

    @Test func `One error contains all failures without values`() async throws {
        try await withDatabase { database in
            let member = Member(name: "", age: 153, password: "hunter2")
            for isSave in [true, false] {
                let error = await #expect(throws: ActiveObjectError.self) {
                    if isSave {
                        var member = member
                        try await member.save(in: database)
                    } else {
                        try await member.validate(in: database)
                    }
                }
                #expect(error?.code == .invalid)
                #expect(error?.table == "members")
                #expect(error?.failures.map(\.column) == ["name", "name", "age", "pass_word", "age"])
                #expect(error?.message.contains("age must be 0 to 150; pass_word must have at least 8") == true)
                #expect(error?.message.contains("hunter2") == false)
                #expect(error?.message.contains("153") == false)
            }
            let left = try await Member.findAll(in: database)
            #expect(left.isEmpty)
        }
    }

    @Test func `An invalid record in an array is named, and no record is saved`() async throws {
        try await withDatabase { database in
            let error = await #expect(throws: ActiveObjectError.self) {
                var members = [Member(), Member(name: "Ann", age: 31, seat: 2), Member(name: "")]
                try await members.saveAll(in: database)
            }
            #expect(error?.index == 1)
            #expect(error?.failures == [ValidationFailure(column: "age", message: "must be even")])
            let left = try await Member.findAll(in: database)
            #expect(left.isEmpty)
        }
    }

    @Test func `unique also checks rows of the same transaction`() async throws {
        try await withDatabase { database in
            var joe = Member()
            try await joe.save(in: database)
            // The record's own row does not count as another one.
            joe.age = 32
            try await joe.save(in: database)

            let same = Member(name: "JOE", team: 1, seat: 1)
            #expect(
                try await same.failures(in: database).map(\.description) == [
                    "name must be unique, and another record has this value",
                    "team, seat must be unique together, and another record has these values",
                ])
            #expect(try await Member(name: "Ann", seat: 2).failures(in: database).isEmpty)

            let error = await #expect(throws: ActiveObjectError.self) {
                var members = [Member(name: "Ann", seat: 2), Member(name: "ann", seat: 3)]
                try await members.saveAll(in: database)
            }
            #expect(error?.index == 1)
            #expect(error?.failures.map(\.column) == ["name"])

            // An insert with an objectId must not exclude the row that has it.
            let copy = await #expect(throws: ActiveObjectError.self) {
                var copy = Member(objectId: joe.objectId)
                try await copy.insert(in: database)
            }
            #expect(copy?.code == .invalid)
        }
    }

    @Test func `unique treats nil values as different`() async throws {
        struct Tag: ActiveRecord {
            var objectId: Int64?
            var name: String?
            static var rules: [Rule<Tag>] { [.unique(\.name)] }
        }
        try await withDatabase { database in
            var tags = [Tag(), Tag(), Tag(name: "a")]
            try await tags.saveAll(in: database)
            #expect(try await Tag(name: "a").failures(in: database).count == 1)
        }
    }

    @Test func `unique without a column is rejected`() async throws {
        struct Tag: ActiveRecord {
            struct Inner: Codable { var word: String }
            var objectId: Int64?
            var inner: Inner
            static var rules: [Rule<Tag>] { [.unique(\.inner.word)] }
        }
        try await withDatabase { database in
            let error = await #expect(throws: ActiveObjectError.self) {
                try await Tag(inner: Tag.Inner(word: "a")).validate(in: database)
            }
            #expect(error?.code == .badRecord)
        }
    }
}
