/// Of which Live Activities an address was registered.
package enum ActivityRegistration: Sendable {
    case of(AppID, name: String)
    /// Any may have been: the registry was not followed for some time.
    case ofUnknown
}
