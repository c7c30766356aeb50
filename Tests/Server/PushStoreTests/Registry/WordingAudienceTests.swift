import PushModel
import Testing

@testable import PushStore

/// Pages of messages whose words depend on the device, whichever engine stores the devices.
@Suite struct WordingAudienceTests {
    private typealias Scene = RegistryScene

    private static let locales: [String?] = ["en-GB", "de_CH", "de-AT", nil, "fr"]
    private static let expected: [UInt32] = [0, 2, 1, 0, 0]

    private static func wording(_ values: UserValues? = nil) throws -> Wording {
        let place = values == nil ? [] : [Wording.Place(offset: 0, value: 0)]
        return try #require(
            Wording(
                ["en", "de", "de-CH"].map { Wording.Form(locale: LocaleTag($0), payload: [], places: place) },
                values: values))
    }

    /// Registers a device for each locale. Every other one belongs to the same user.
    private static func register(in registry: any RegistryEngine) async throws {
        _ = try await registry.register(
            locales.enumerated().map { number, locale in
                var registration = Scene.registration(number, user: number % 2 == 0 ? "ada" : "bob", tags: ["beta"])
                registration.locale = locale
                return registration
            })
    }

    private static func pages(
        _ registry: any RegistryEngine, _ audience: Audience, _ wording: Wording?, limit: Int
    ) async throws -> [DeviceID: UInt32] {
        var found: [DeviceID: UInt32] = [:]
        var cursor: AudienceCursor?
        repeat {
            let page = try await registry.page(
                of: audience, app: Scene.shop, kind: .alert, wording: wording, after: cursor, limit: limit)
            for device in page.devices { #expect(found.updateValue(device.variant, forKey: device.id) == nil) }
            cursor = page.next
        } while cursor != nil
        return found
    }

    @Test(arguments: [1, 2, 100], RegistryKind.allCases)
    func `Each device of a page has the variant of its locale`(limit: Int, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            try await Self.register(in: registry)
            let ids = Self.locales.indices.map { Scene.id($0) }
            let many = TagExpression.any((0..<9).map { .tag($0 == 0 ? "beta" : "other-\($0)") })
            let audiences: [Audience] = [
                .everyone, .users(["bob", "ada"]), .tags(.tag("beta")), .tags(.not(.tag("other"))), .tags(many),
                .devices(ids), .tokens(Self.locales.indices.map { Scene.token($0) }),
            ]
            for audience in audiences {
                let found = try await Self.pages(registry, audience, try Self.wording(), limit: limit)
                #expect(found == Dictionary(uniqueKeysWithValues: zip(ids, Self.expected)), "\(audience)")
                let plain = try await Self.pages(registry, audience, nil, limit: limit)
                #expect(plain == Dictionary(uniqueKeysWithValues: ids.map { ($0, 0) }), "\(audience)")
            }
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `A token that the registry does not know gets the default`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            try await Self.register(in: registry)
            let found = try await Self.pages(
                registry, .tokens([Scene.token(99), Scene.token(1)]), try Self.wording(), limit: 10)
            #expect(found == [Scene.id(99): 0, Scene.id(1): 2])
        }
    }

    @Test(arguments: RegistryKind.allCases)
    func `Two tokens of one device are one device`(kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            let whole = try #require(Address(bytes: Array("fid:secret".utf8), identifiedByFirst: 3))
            let bare = try #require(Address(bytes: Array("fid".utf8)))
            let found = try await Self.pages(registry, .tokens([whole, bare]), try Self.wording(), limit: 10)
            #expect(found.count == 1)
        }
    }

    @Test(arguments: [1, 2, 100], RegistryKind.allCases)
    func `Each device has the variant of its user and its locale`(limit: Int, kind: RegistryKind) async throws {
        try await Scene.open(on: kind) { registry, _ in
            try await Self.register(in: registry)
            var values = UserValues(of: ["ada", "bob", "eve"], count: 1)
            for value in 1...3 as ClosedRange<UInt8> { _ = values.add([value]) }
            let wording = try Self.wording(values)
            let found = try await Self.pages(registry, .users(values.users), wording, limit: limit)
            #expect(found.count == Self.locales.count)
            for (number, form) in Self.expected.enumerated() {
                #expect(found[Scene.id(number)] == UInt32(number % 2 * 3) + form)
            }
        }
    }
}
