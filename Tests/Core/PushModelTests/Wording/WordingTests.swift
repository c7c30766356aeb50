import TestSupport
import Testing

@testable import PushModel

@Suite struct WordingTests {
    private static let id = MessageID("m")!
    private static let shop = AppID("shop")!

    private static func form(_ locale: String?, _ payload: String, at places: [Wording.Place] = []) -> Wording.Form {
        Wording.Form(locale: locale.flatMap { LocaleTag($0) }, payload: Array(payload.utf8), places: places)
    }

    private static func message(_ wording: Wording) -> Message {
        Message(id: id, app: shop, payload: wording.forms[0].payload, wording: wording)
    }

    private static func values(_ all: [String: [String]]) throws -> UserValues {
        let users = all.keys.sorted { $0.precedesInBytes($1) }
        var values = UserValues(of: users, count: all.values.first?.count ?? 0)
        for user in users {
            for value in all[user] ?? [] { _ = values.add(Array(value.utf8)) }
        }
        return values
    }

    // MARK: Locales

    @Test(arguments: [
        ("en", "en"), ("de-CH", "de-ch"), ("ZH_hant_TW", "zh-hant-tw"), ("es-419", "es-419"), ("x-a", "x-a"),
    ]) func `A locale is in lower case, with hyphens`(given: String, text: String) {
        #expect(LocaleTag(given)?.text == text)
    }

    @Test(arguments: [
        "", "-", "de-", "-de", "de--ch", "de ch", "dé", "de@x", "abcdefghi", String(repeating: "a-", count: 20),
    ])
    func `What is no locale is none`(given: String) {
        #expect(LocaleTag(given) == nil)
    }

    /// RFC 4647, section 3.4.
    @Test(
        arguments: [
            (nil, "en"), ("", "en"), ("en", "en"), ("de", "de"), ("de-DE", "de"), ("de_AT", "de"), ("DE_ch", "de-CH"),
            ("de-CH-1996", "de-CH"), ("fr", "en"), ("fr-CH", "en"), ("zh-Hant-TW", "zh-Hant"), ("zh-TW", "en"),
            ("zh", "en"), ("zh-Hant-x-private", "zh-Hant"), ("de_DE@calendar=buddhist", "de"), ("de_CH.UTF-8", "de-CH"),
            ("zh_Hant_#x", "zh-Hant"), ("d", "en"), ("-de", "en"), ("ja-JP", "en"), ("@", "en"),
            ("de-" + String(repeating: "x", count: 5000), "de"),
        ] as [(String?, String)])
    func `A device gets the words of its locale, of one that includes it, or the default`(
        locale: String?, expected: String
    ) throws {
        let names = ["en", "de", "de-CH", "zh-Hant"]
        let wording = try #require(Wording(names.map { Self.form($0, $0) }))
        let variant = try #require(wording.variant(locale: locale, user: nil))
        #expect(String(decoding: wording.payload(variant), as: UTF8.self) == expected)
        #expect(String(decoding: Self.message(wording).form(variant).payload, as: UTF8.self) == expected)
    }

    @Test func `A language never takes the words of one of its regions, and the default may be a region`() throws {
        let wording = try #require(Wording([Self.form("de-CH", "a"), Self.form("de", "b")]))
        #expect(wording.variant(locale: "de_CH", user: nil) == 0)
        #expect(wording.variant(locale: "de-DE", user: nil) == 1)
        let swiss = try #require(Wording([Self.form("en", "a"), Self.form("de-CH", "b")]))
        #expect(swiss.variant(locale: "de", user: nil) == 0)
        #expect(swiss.variant(locale: "de-AT", user: nil) == 0)
    }

    @Test func `Forms by locale are made once, and are withdrawn together`() throws {
        let wording = try #require(Wording([Self.form("en", "a"), Self.form("de", "b"), Self.form("fr", "c")]))
        let message = Self.message(wording)
        #expect(message.form(0) === message)
        #expect(message.form(1) === message.form(1) && message.form(1) !== message.form(2))
        #expect(message.form(2).id == message.id && message.form(2).form(0) === message.form(2))
        #expect(message.form(9) === message)
        message.withdraw()
        #expect((0..<3).allSatisfy { message.form($0).isWithdrawn })
        let plain = Message(id: Self.id, app: Self.shop, payload: [1])
        #expect(plain.form(0) === plain && plain.form(7) === plain && !plain.isWithdrawn)
    }

    // MARK: Values

    @Test func `Each user gets the own values, in the words of the locale`() throws {
        let values = try Self.values(["ada": ["1", "x"], "bob": ["22", ""]])
        let forms = [
            Self.form("en", "{ of }", at: [.init(offset: 1, value: 0), .init(offset: 5, value: 1)]),
            Self.form(
                "de", "[]", at: [.init(offset: 1, value: 1), .init(offset: 1, value: 1), .init(offset: 2, value: 0)]),
        ]
        let wording = try #require(Wording(forms, values: values))
        let message = Self.message(wording)
        for (user, locale, expected) in [
            ("ada", "en", "{1 of x}"), ("ada", "de", "[xx]1"), ("bob", nil, "{22 of }"), ("bob", "de-AT", "[]22"),
        ] as [(String, String?, String)] {
            let variant = try #require(wording.variant(locale: locale, user: user))
            let form = message.form(variant)
            #expect(String(decoding: form.payload, as: UTF8.self) == expected)
            #expect(!form.isWithdrawn)
        }
        #expect(wording.variant(locale: nil, user: "eve") == nil)
        #expect(wording.variant(locale: nil, user: nil) == nil)
        let form = message.form(0)
        message.withdraw()
        #expect(form.isWithdrawn)
    }

    @Test func `Users are told apart by their bytes`() throws {
        let values = UserValues(of: ["e\u{301}", "é"], count: 0)
        for user in values.users {
            let number = try #require(values.number(of: user))
            #expect(values.users[number].utf8.elementsEqual(user.utf8))
        }
        #expect(values.number(of: "e") == nil && values.number(of: "z") == nil)
    }

    @Test func `Forms that do not fit are none`() throws {
        #expect(Wording([]) == nil)
        #expect(Wording([Self.form("en", "a"), Self.form("EN", "b")]) == nil)
        #expect(Wording([Self.form("en", "a"), Self.form(nil, "b")]) == nil)
        #expect(Wording([Self.form("en", "a", at: [.init(offset: 0, value: 0)])]) == nil)
        let values = try Self.values(["ada": ["1"]])
        for places in [
            [Wording.Place(offset: 2, value: 0)], [Wording.Place(offset: 0, value: 1)],
            [Wording.Place(offset: 1, value: 0), Wording.Place(offset: 0, value: 0)],
            [Wording.Place(offset: 0, value: -1)],
        ] {
            #expect(Wording([Self.form(nil, "a", at: places)], values: values) == nil)
        }
        #expect(Wording([Self.form(nil, "a")], values: UserValues(of: ["ada"], count: 1)) == nil)
        var full = values
        let isAdded = full.add([1])
        #expect(!isAdded)
    }

    // MARK: Contents

    @Test func `Words, locales and values are part of the content of a message`() throws {
        let identities = try #require(Identities(secret: Array(100..<132)))
        func content(_ wording: Wording?) -> UInt64 {
            identities.content(
                of: Message(
                    id: Self.id, app: Self.shop, payload: wording?.forms[0].payload ?? Array("a".utf8), wording: wording
                ))
        }
        let place = [Wording.Place(offset: 0, value: 0)]
        let wordings = [
            nil, Wording([Self.form("en", "a"), Self.form("de", "b")]),
            Wording([Self.form("en", "a"), Self.form("de", "c")]),
            Wording([Self.form("en", "a"), Self.form("fr", "b")]),
            Wording([Self.form("de", "b"), Self.form("en", "a")]),
            Wording([Self.form(nil, "a", at: place)], values: try Self.values(["ada": ["1"]])),
            Wording([Self.form(nil, "a", at: place)], values: try Self.values(["ada": ["2"]])),
            Wording([Self.form(nil, "a", at: place)], values: try Self.values(["bob": ["1"]])),
            Wording(
                [Self.form(nil, "a", at: [Wording.Place(offset: 1, value: 0)])],
                values: try Self.values(["ada": ["1"]])),
        ]
        #expect(wordings.dropFirst().allSatisfy { $0 != nil })
        #expect(Set(wordings.map(content)).count == wordings.count)
        #expect(content(wordings[1]) == content(Wording([Self.form("EN", "a"), Self.form("de", "b")])))
    }

    @Test func `The size of a message grows with its forms and values`() throws {
        let plain = Message(id: Self.id, app: Self.shop, payload: Array(repeating: 0, count: 100))
        #expect(plain.size == 612)
        let forms = (0..<10).map {
            Wording.Form(locale: LocaleTag("a\($0)"), payload: Array(repeating: 0, count: 1000))
        }
        #expect(Self.message(try #require(Wording(forms))).size > 10_000)
        let many = Dictionary(
            uniqueKeysWithValues: (0..<1000).map { ("user-\($0)", [String(repeating: "x", count: 100)]) })
        let wording = Wording([Self.form(nil, "a", at: [.init(offset: 0, value: 0)])], values: try Self.values(many))
        #expect(Self.message(try #require(wording)).size > 100_000)
    }
}
