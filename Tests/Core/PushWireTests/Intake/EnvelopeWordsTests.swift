import PushModel
import Testing

@testable import PushWire

/// Alerts with words by locale, and with values of their users.
@Suite struct EnvelopeWordsTests {
    typealias Examples = EnvelopeExamples

    /// Returns the payload of each locale of a message.
    private static func payloads(_ request: PushRequest) throws -> [String: String] {
        let wording = try #require(request.message.wording)
        let pairs = wording.forms.map { ($0.locale?.text ?? "", String(decoding: $0.payload, as: UTF8.self)) }
        return Dictionary(uniqueKeysWithValues: pairs)
    }

    private static func localized(_ locales: String, default name: String = "en", _ more: String = "") -> String {
        #""alert":{"locales":{\#(locales)},"default":"\#(name)"}\#(more)"#
    }

    private static func users(_ users: String...) -> String {
        #"{"users":[\#(users.map { #""\#($0)""# }.joined(separator: ","))]}"#
    }

    /// Returns the payload of a user, in the words of a locale.
    private static func payload(_ request: PushRequest, for user: String, in locale: String? = nil) throws -> String {
        let wording = try #require(request.message.wording)
        let variant = try #require(wording.variant(locale: locale, user: user))
        return String(decoding: request.message.form(variant).payload, as: UTF8.self)
    }

    // MARK: Locales

    @Test func `Each locale has its payload, and the default comes first`() throws {
        let request = try Examples.request(
            Self.localized(
                #""en":"Hi","de":{"title":"T","body":"Gr\u00fc\u00dfe"},"de_CH":"Hoi","fr":"Salut""#, default: "DE",
                #","badge":2"#),
            frame: nil)
        #expect(
            try Self.payloads(request) == [
                "en": #"{"aps":{"alert":"Hi","badge":2}}"#,
                "de": #"{"aps":{"alert":{"body":"Grüße","title":"T"},"badge":2}}"#,
                "de-ch": #"{"aps":{"alert":"Hoi","badge":2}}"#, "fr": #"{"aps":{"alert":"Salut","badge":2}}"#,
            ])
        #expect(request.message.wording?.forms.map(\.locale?.text) == ["de", "de-ch", "en", "fr"])
        #expect(request.message.payload == request.message.wording?.forms[0].payload)
        #expect(request.message.wording?.values == nil)
        #expect(request.findings.isEmpty)
    }

    @Test func `The order of locales does not change the message, and one locale is none`() throws {
        let one = try Examples.request(Self.localized(#""en":"Hi","de":"Hallo","fr":"Salut""#), frame: nil)
        let other = try Examples.request(
            #""alert":{"default":"en","locales":{"fr":"Salut","DE":"\u0048allo","en":"Hi"}}"#, frame: nil)
        #expect(one.message.wording?.forms == other.message.wording?.forms)
        let single = try Examples.request(Self.localized(#""en":"Hi""#), frame: nil)
        #expect(single.message.wording == nil)
        #expect(
            try EnvelopePayloadTests.payload(#""alert":"Hi""#)
                == String(decoding: single.message.payload, as: UTF8.self))
    }

    @Test func `A message without locales has no forms`() throws {
        #expect(try Examples.request(#""alert":{"title":"{n}","body":"{{"}"#, frame: nil).message.wording == nil)
        #expect(try EnvelopePayloadTests.payload(#""alert":"{n} {{""#) == #"{"aps":{"alert":"{n} {{"}}"#)
    }

    @Test func `As many locales as are allowed are taken, and not one more`() throws {
        let names = (0..<Wording.maxForms).map { "x-\($0)" }
        func locales(_ names: [String]) -> String { names.map { #""\#($0)":"a""# }.joined(separator: ",") }
        let request = try Examples.request(Self.localized(locales(names), default: "x-0"), frame: nil)
        #expect(request.message.wording?.forms.count == Wording.maxForms)
        let rejection = Examples.rejection(
            Examples.envelope(Self.localized(locales(names + ["en"]))), frame: nil)
        #expect(rejection == Rejection(.tooMany, detail: "/alert/locales: there are 256; 255 are allowed"))
    }

    @Test(
        arguments: [
            (#""alert":{"locales":{"en":"a"}}"#, .badField, "/alert/default: it is missing"),
            (#""alert":{"locales":{"en":"a"},"default":7}"#, .badField, "/alert/default: it is a number"),
            (localized(#""en":"a""#, default: "de"), .badField, "/alert/default: de is not among the locales"),
            (localized(#""en-GB":"a""#, default: "en"), .badField, "/alert/default: en is not among the locales"),
            (#""alert":{"locales":{},"default":"en"}"#, .badField, "/alert/locales: it is not an object with"),
            (#""alert":{"locales":"en","default":"en"}"#, .badField, "/alert/locales: it is not an object with"),
            (
                #""alert":{"locales":{"en":"a"},"default":"en","title":"x"}"#, .badField,
                "/alert/title: it stands beside locales"
            ),
            (
                #""alert":{"locales":{"en":"a"},"default":"en","default":"en"}"#, .badField,
                "/alert/default: it is given twice"
            ),
            (localized(#""en":"a","en":"b""#), .badField, "/alert/locales/en: it is given twice"),
            (localized(#""en":"a","de-CH":"b","de_ch":"c""#), .badField, "/alert/locales/de_ch: it is given twice"),
            (localized(#""en":"a","Deutsch!":"b""#), .badField, "/alert/locales/Deutsch!: it is no locale"),
            (localized(#""en":"a","a/b":"b""#), .badField, "/alert/locales/a~1b: it is no locale"),
            (localized(#""en":"a","de":7"#), .badField, "/alert/locales/de: it is a number, not a string or an object"),
            (
                localized(#""en":"a","de":{"titel":"b"}"#), .badField,
                "/alert/locales/de/titel: alert has no such member"
            ),
            (localized(#""en":"a","de":{"title":[]}"#), .badField, "/alert/locales/de/title: it is an array"),
            (
                localized(#""en":"a","de":{"locales":{},"default":"en"}"#), .badField,
                "/alert/locales/de/locales: alert has no"
            ),
            (
                localized(#""en":"a","de":{"body":"b","body":"c"}"#), .badField,
                #"/alert/locales/de: alert: "body" is given twice"#
            ),
            (
                localized(#""en":"a","de":"\#(String(repeating: "x", count: 4096))""#), .payloadTooLarge,
                "/alert/locales/de: 4116 bytes; alert allows 4096"
            ),
            (
                localized(#""en":"\#(String(repeating: "x", count: 4096))""#), .payloadTooLarge,
                "/alert/locales/en: 4116 bytes; alert allows 4096"
            ),
        ] as [(String, RejectionReason, String)])
    func `Locales that are refused are named by a pointer`(
        _ members: String, _ reason: RejectionReason, _ words: String
    ) {
        let rejection = Examples.rejection(Examples.envelope(members), frame: nil)
        #expect(rejection?.reason == reason)
        #expect(rejection?.detail.contains(words) == true, "\(rejection?.detail ?? "")")
    }

    @Test func `The findings are those of the first form that has some`() throws {
        let request = try Examples.request(
            Self.localized(#""en":{"body":"a"},"de":{"body":"b","loc-args":["x"]}"#), frame: nil)
        let alone = try Examples.request(#""alert":{"body":"b","loc-args":["x"]}"#, frame: nil)
        #expect(!alone.findings.isEmpty && request.findings == alone.findings)
    }

    // MARK: Values

    @Test func `Values are filled into the texts of the alert, and only there`() throws {
        let request = try Examples.request(
            #""alert":{"title":"Hello {name}","subtitle":"{n}","body":"{{n}} {n}{n}"},"link":"shop:{n}","custom":{"a":"{n}"},"#
                + #""values":{"bob":{"name":"B\"\n","n":"{name}","more":"x"},"ada":{"n":"3","name":"Ada"}}"#,
            to: Self.users("bob", "ada", "bob"), frame: nil)
        #expect(request.audience == .users(["ada", "bob"]))
        let rest = #","link":"shop:{n}","a":"{n}"}"#
        #expect(
            try Self.payload(request, for: "ada")
                == #"{"aps":{"alert":{"body":"{n}} 33","subtitle":"3","title":"Hello Ada"}}"# + rest)
        #expect(
            try Self.payload(request, for: "bob")
                == #"{"aps":{"alert":{"body":"{n}} {name}{name}","subtitle":"{name}","title":"Hello B\"\n"}}"# + rest)
    }

    @Test func `Values are filled into the words of each locale`() throws {
        let request = try Examples.request(
            Self.localized(#""en":"{n} new","de":"neu: \u007bn}""#, #","values":{"ada":{"n":"3"},"é":{"n":"\u0034"}}"#),
            to: Self.users("ada", "é"), frame: nil)
        #expect(try Self.payload(request, for: "ada", in: "de-AT") == #"{"aps":{"alert":"neu: 3"}}"#)
        #expect(try Self.payload(request, for: "é", in: "fr") == #"{"aps":{"alert":"4 new"}}"#)
        #expect(request.message.wording?.variant(locale: nil, user: "eve") == nil)
    }

    private static func localized(_ locales: String, _ more: String) -> String {
        localized(locales, default: "en", more)
    }

    @Test func `Values that no text names leave a message without forms, and its braces are unescaped`() throws {
        let request = try Examples.request(
            #""alert":"a {{b}","values":{"ada":{"n":"1"}}"#, to: Self.users("ada"), frame: nil)
        #expect(request.message.wording == nil)
        #expect(String(decoding: request.message.payload, as: UTF8.self) == #"{"aps":{"alert":"a {b}"}}"#)
    }

    @Test func `The size is judged with the longest values`() throws {
        func envelope(_ length: Int) -> String {
            Examples.envelope(
                #""alert":"{n}{n}","values":{"ada":{"n":"1"},"bob":{"n":"\#(String(repeating: "x", count: length))"}}"#,
                to: Self.users("ada", "bob"))
        }
        #expect(Examples.rejection(envelope(2038), frame: nil) == nil)
        #expect(
            Examples.rejection(envelope(2039), frame: nil)
                == Rejection(.payloadTooLarge, detail: "/alert (for bob): 4098 bytes; alert allows 4096"))
    }

    @Test(
        arguments: [
            (#""alert":"{n}","values":[]"#, nil, .badField, "values is an array, not an object"),
            (
                #""alert":"{n}","values":{"ada":{}}"#, nil, .badPayload,
                "/values/ada/n: it is missing, and the alert has {n}"
            ),
            (#""alert":"{n}","values":{}"#, nil, .badPayload, "/values/ada: it is missing; each user"),
            (
                #""alert":"{n}","values":{"ada":{"n":"1"},"bob":{"n":"1"}}"#, nil, .badPayload,
                "/values/bob: it is not among"
            ),
            (
                #""alert":"{n}","values":{"ada":{"n":"1"},"ada":{"n":"1"}}"#, nil, .badPayload,
                "/values/ada: it is given twice"
            ),
            (#""alert":"{n}","values":{"ada":7}"#, nil, .badPayload, "/values/ada: it is a number, not an object"),
            (
                #""alert":"{n}","values":{"ada":{"n":7}}"#, nil, .badPayload,
                "/values/ada/n: it is a number, not a string"
            ),
            (#""alert":"x","values":{"ada":{"m":7}}"#, nil, .badPayload, "/values/ada/m: it is a number, not a string"),
            (
                #""alert":"{n}","values":{"ada":{"n":"1","n":"2"}}"#, nil, .badPayload,
                "/values/ada/n: it is given twice"
            ),
            (#""alert":"{n","values":{"ada":{"n":"1"}}"#, nil, .badPayload, "/alert: it has a brace without an end"),
            (#""alert":"{","values":{"ada":{}}"#, nil, .badPayload, "/alert: it has a brace without an end"),
            (#""alert":"{a{b}","values":{"ada":{"b":"1"}}"#, nil, .badPayload, "/alert: it has a brace without an end"),
            (
                #""alert":{"body":"{}"},"values":{"ada":{"n":"1"}}"#, nil, .badPayload,
                "/alert: it has {} without a name"
            ),
            (
                localized(#""en":"a","de":"{""#, #","values":{"ada":{}}"#), nil, .badPayload,
                "/alert/locales/de: it has a brace without an end"
            ),
            (#""badge":1,"values":{"ada":{"n":"1"}}"#, nil, .badField, "values: there is no alert"),
            (#""payload":{},"values":{"ada":{"n":"1"}}"#, nil, .badField, "values: there is no alert"),
            (#""alert":"{n}","values":{"ada":{"n":"1"}}"#, #"{"all":true}"#, .badField, "values: they need to.users"),
            (#""alert":"{n}","values":{"ada":{"n":"1"}}"#, #"{"tags":"ada"}"#, .badField, "values: they need to.users"),
        ] as [(String, String?, RejectionReason, String)])
    func `Values that are refused are named by a pointer`(
        _ members: String, _ to: String?, _ reason: RejectionReason, _ words: String
    ) {
        let rejection = Examples.rejection(
            Examples.envelope(members, to: to ?? Self.users("ada")), frame: nil)
        #expect(rejection?.reason == reason)
        #expect(rejection?.detail.contains(words) == true, "\(rejection?.detail ?? "")")
    }

    @Test func `As many names as are allowed are taken, and not one more`() {
        func envelope(_ count: Int) -> String {
            let names = (0..<count).map { "n\($0)" }
            return Examples.envelope(
                #""alert":"\#(names.map { "{\($0)}" }.joined())","values":{"ada":{"#
                    + names.map { #""\#($0)":"1""# }.joined(separator: ",") + "}}", to: Self.users("ada"))
        }
        #expect(Examples.rejection(envelope(UserValues.maxNames), frame: nil) == nil)
        #expect(
            Examples.rejection(envelope(UserValues.maxNames + 1), frame: nil)
                == Rejection(.badPayload, detail: "/alert: it has 65 names in braces; 64 are allowed"))
    }

    @Test func `Values for more users than an envelope can have are refused by their number`() {
        let users = (0..<80_000).map { "u\($0)" }
        let envelope = Examples.envelope(
            #""alert":"{n}","values":{\#(users.map { #""\#($0)":{"n":"1"}"# }.joined(separator: ","))}"#,
            to: #"{"users":[\#(users.map { #""\#($0)""# }.joined(separator: ","))]}"#)
        #expect(
            Examples.rejection(envelope, frame: nil)
                == Rejection(
                    .tooMany, detail: "values: the envelope has more than 300000 values; name fewer users"))
    }
}
