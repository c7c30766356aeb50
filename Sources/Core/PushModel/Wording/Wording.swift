import Synchronization

/// The forms of a message whose words depend on the device: on its locale, on its user, or on both. All forms were
/// checked when the message was accepted.
///
/// Each pair of a form and a user has a number, the variant.
package final class Wording: Sendable {
    /// The largest number of locales of a message.
    package static let maxForms = 255

    /// The message in the words of one locale.
    package struct Form: Sendable, Equatable {
        /// The locale; nil if the message has none.
        package let locale: LocaleTag?
        /// The payload; if the message has values, without them.
        package let payload: [UInt8]
        /// The places of the values, in ascending order.
        package let places: [Place]

        package init(locale: LocaleTag?, payload: [UInt8], places: [Place] = []) {
            (self.locale, self.payload, self.places) = (locale, payload, places)
        }
    }

    /// Where a value stands.
    package struct Place: Sendable, Equatable {
        package let offset: Int
        /// The number of the value.
        package let value: Int

        package init(offset: Int, value: Int) {
            (self.offset, self.value) = (offset, value)
        }
    }

    /// The forms. The first one is for devices whose locale has none.
    package let forms: [Form]
    package let values: UserValues?
    private let numbers: [String: Int]
    private let withdrawal = Atomic<Bool>(false)

    /// Creates the forms; nil if there is none, or if they do not fit each other and the values.
    package init?(_ forms: [Form], values: UserValues? = nil) {
        guard (1...Self.maxForms).contains(forms.count), values?.isComplete ?? true else { return nil }
        var numbers: [String: Int] = [:]
        for (number, form) in forms.enumerated() {
            if let locale = form.locale, numbers.updateValue(number, forKey: locale.text) != nil { return nil }
            if form.locale == nil, forms.count > 1 { return nil }
            var last = 0
            for place in form.places {
                guard (last...form.payload.count).contains(place.offset),
                    (0..<(values?.count ?? 0)).contains(place.value)
                else { return nil }
                last = place.offset
            }
        }
        self.forms = forms
        self.values = values
        self.numbers = numbers
    }

    /// Whether the message was cancelled, for all forms.
    var isWithdrawn: Bool { withdrawal.load(ordering: .relaxed) }

    func withdraw() { withdrawal.store(true, ordering: .relaxed) }

    /// The approximate number of bytes in memory, besides the payload of the first form.
    var size: Int {
        forms.reduce(values?.size ?? 0) { $0 + 512 + $1.payload.count + 16 * $1.places.count }
    }

    /// Returns the variant for a device; nil if the message has values, and none for the user.
    package func variant(locale: String?, user: String?) -> UInt32? {
        let form = form(for: locale)
        guard let values else { return UInt32(form) }
        guard let user, let number = values.number(of: user) else { return nil }
        return UInt32(number * forms.count + form)
    }

    /// Returns the number of the form for the locale of a device.
    package func form(for locale: String?) -> Int {
        guard forms.count > 1, let locale else { return 0 }
        return LocaleTag.lookUp(locale) { numbers[$0] } ?? 0
    }

    /// Returns the payload of a variant.
    package func payload(_ variant: UInt32) -> [UInt8] {
        let form = forms[Int(variant) % forms.count]
        let user = Int(variant) / forms.count
        guard let values, user < values.users.count else { return form.payload }
        var payload: [UInt8] = []
        payload.reserveCapacity(form.places.reduce(form.payload.count) { $0 + values.length($1.value, of: user) })
        var copied = 0
        for place in form.places {
            payload += form.payload[copied..<place.offset]
            payload += values.value(place.value, of: user)
            copied = place.offset
        }
        payload += form.payload[copied...]
        return payload
    }

    /// Adds what two requests with the same id must have in common.
    func hash(into hash: inout SipHash) {
        hash.add(UInt64(forms.count))
        for form in forms {
            hash.add(form.locale?.text ?? "")
            hash.add(form.payload)
            for place in form.places { hash.add(UInt64(place.offset) << 8 | UInt64(place.value)) }
        }
        guard let values else { return }
        hash.add(UInt64(values.count))
        for (number, user) in values.users.enumerated() {
            hash.add(user)
            for value in 0..<values.count { hash.add(Array(values.value(value, of: number))) }
        }
    }
}
