private import CEvent

/// The version of libevent, as the loaded library reports it.
package enum EventLibrary {
    package static var version: String {
        unsafe event_get_version().map { unsafe String(cString: $0) } ?? "unknown"
    }
}
